"""Pose a figure: say what it should do, get the best pose, and read the verdict."""

import exactik as ik

figure = ik.human()  # 1.75 m tall; x forward, y left, z up
cup = (0.45, -0.20, 1.05)  # metres

goals = [
    ik.PositionGoal("r_hand", cup, name="hand at the cup"),
    ik.AimGoal("head", (1, 0, 0), cup, weight=0.1, name="eyes on the cup"),
    ik.PostureGoal(figure.neutral(), weight=1e-4),  # decides what the others leave open
]
result = ik.solve(figure, goals, lock="pelvis")

print(result.why)
for name, error in result.errors_in_words.items():
    print(f"  {name}: off by {error}")
print("the hand is at", figure.forward(result.q).point("r_hand").round(3))

far = ik.solve(figure, [ik.PositionGoal("r_hand", (2.0, 0.0, 1.0))], lock="pelvis")
print(far.why)
