"""How sure is a pose? The exact Hessian knows, and names what the markers leave open."""

import numpy as np

import exactik as ik

figure = ik.human()
q = figure.neutral()
for dof, angle in (("l_forearm.rz", -1.0), ("r_shin.ry", 0.8), ("l_upper_arm.rx", 0.4)):
    q[figure.dof_names.index(dof)] = angle
places = figure.forward(q).markers
random = np.random.default_rng(0)

for names in (list(figure.markers), ["LSHO", "LELB", "LWRA", "LFWT", "RFWT", "CLAV"]):
    goals = [
        ik.MarkerGoal(name, places[k] + 0.002 * random.standard_normal(3))
        for k, name in enumerate(figure.markers)
        if name in names
    ]
    bars = ik.solve(figure, goals, q0=q).covariance(sigma=0.002)  # markers are good to 2 mm
    print(f"with {len(names)} markers:")
    for dof in ("l_forearm.rz", "l_upper_arm.ry", "r_shin.ry"):
        sd = np.degrees(bars.sd[figure.dof_names.index(dof)])
        print(f"  {dof:14} " + (f"± {sd:.1f}°" if np.isfinite(sd) else "is not determined"))
    print(f"  directions left open: {len(bars.undetermined)}")
