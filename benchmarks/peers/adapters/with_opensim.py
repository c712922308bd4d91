"""OpenSim's InverseKinematicsSolver, on a model of pin and slider joints with the same markers.

Equal weights. `assemble` for the first frame and for cold ones, `track` for those after it; once
with the accuracy of its IK tool, 1e-5, once with 1e-7.
"""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.peers.protocol import Array, Figure
from benchmarks.peers.tree import Tree

TITLE, PACKAGE = "OpenSim", "opensim"
REQUIREMENTS = ("opensim==4.6.*", "numpy")
ALONG_Z = np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])  # x to z: sliders go in x
CONSTRAINT_WEIGHT = 100.0  # of constraints, of which there are none
BUDGET_S = 120.0  # of the processor for the tracked frames, and for the cold ones


class _Markers:
    def __init__(self, task: Figure, accuracy: float) -> None:
        self.sim: Any = import_module("opensim")
        self.sim.Logger.setLevelString("Error")
        self.task, self.accuracy = task, accuracy
        self.model = self._figure(Tree(task.urdf, task.joints, task.markers))
        self.state = self.model.initSystem()
        self.coordinates = [self.model.getCoordinateSet().get(name) for name in task.joints]

    def _figure(self, tree: Tree) -> Any:
        sim, model = self.sim, self.sim.Model()
        bodies: dict[int, Any] = {-1: model.getGround()}
        for k in tree.order:
            body = sim.Body(f"body{k}", 1.0, sim.Vec3(0), sim.Inertia(1, 1, 1))
            R, slides = tree.constant[k, :3, :3], bool(tree.slides[k])
            after = ALONG_Z if slides else np.eye(3)
            joint = (sim.SliderJoint if slides else sim.PinJoint)(
                f"joint{k}",
                bodies[int(tree.parent[k])],
                sim.Vec3(*tree.constant[k, :3, 3].tolist()),
                self._angles(R @ after),
                body,
                sim.Vec3(0),
                self._angles(after),
            )
            joint.updCoordinate().setName(self.task.joints[k])
            model.addBody(body)
            model.addJoint(joint)
            bodies[k] = body
        for name, k, T in zip(self.task.markers, tree.carrier, tree.place, strict=True):
            model.addMarker(sim.Marker(name, bodies[int(k)], sim.Vec3(*T[:3, 3].tolist())))
        model.finalizeConnections()
        return model

    def _angles(self, R: Array) -> Any:
        """Angles about x, y and z of the turning frame; where y is a right angle, z is zero."""
        level = np.hypot(R[0, 0], R[0, 1])
        y = np.arctan2(R[0, 2], level)
        x, z = np.arctan2(-R[1, 2], R[2, 2]), np.arctan2(-R[0, 1], R[0, 0])
        if level < 1e-12:
            x, z = np.arctan2(R[2, 1], R[1, 1]), 0.0
        return self.sim.Vec3(float(x), float(y), float(z))

    def put(self, q: Array) -> None:
        for coordinate, value in zip(self.coordinates, q, strict=True):
            coordinate.setValue(self.state, float(value), False)

    def q(self) -> Array:
        return np.array([coordinate.getValue(self.state) for coordinate in self.coordinates])

    def solver(self, places: Array) -> Any:
        """For frames at the times 0, 1, 2, …"""
        sim, table = self.sim, self.sim.TimeSeriesTableVec3()
        table.setColumnLabels(list(self.task.markers))
        for t, frame in enumerate(places):
            row = sim.RowVectorVec3(len(frame), sim.Vec3(0))
            for k, place in enumerate(frame):
                row[k] = sim.Vec3(*place.tolist())
            table.appendRow(float(t), row)
        table.addTableMetaDataString("Units", "m")
        table.addTableMetaDataString("DataRate", "1.0")
        reference = sim.MarkersReference(table, sim.SetMarkerWeights(), sim.Units("m"))
        none = sim.SimTKArrayCoordinateReference()
        solver = sim.InverseKinematicsSolver(self.model, reference, none, CONSTRAINT_WEIGHT)
        solver.setAccuracy(self.accuracy)
        self.kept = (table, reference, none)  # the solver does not keep them alive
        return solver

    def run(self, places: Array, starts: Array) -> tuple[Array, Array]:
        """Answers and milliseconds; frames without a row in `starts` go on from the one before."""
        solver, q, ms, spent = self.solver(places), [], [], 0.0
        for t in range(len(places)):
            self.state.setTime(float(t))
            if t < len(starts):
                self.put(starts[t])
            begin = time.process_time()
            (solver.assemble if t < len(starts) else solver.track)(self.state)
            spent += time.process_time() - begin
            ms.append(1e3 * (time.process_time() - begin))
            q.append(self.q())
            if spent > BUDGET_S:
                break
        return np.array(q), np.array([ms])

    def solve_all(self, task: Figure) -> dict[str, Array]:
        q, ms = self.run(task.places, task.first[None])
        cold_q, cold_ms = self.run(task.cold_places, task.starts)
        return {"q": q, "ms": ms, "cold_q": cold_q, "cold_ms": cold_ms}


def figures(task: Figure) -> dict[str, _Markers]:
    return {"1e-5": _Markers(task, 1e-5), "1e-7": _Markers(task, 1e-7)}
