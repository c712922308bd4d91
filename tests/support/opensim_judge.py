"""OpenSim's own answers, asked in the Python that has it: where bodies and markers are, and its IK.

A program, not a module of the tests: `python opensim_judge.py poses MODEL OUT.npz --count 200`. It
imports nothing of exactik. Coordinates are set as given, whatever their ranges, locks and
constraints; those that a coupler drives get the value of the coupler's own function.
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np
import opensim as osim  # pyright: ignore[reportMissingImports]

RANGE_EXCESS = 0.2  # share of a coordinate's range by which poses go beyond it, at either end


def open_model(path):
    model = osim.Model(path)
    state = model.initSystem()
    for coordinate in (model.getCoordinateSet().get(i) for i in range(model.getNumCoordinates())):
        coordinate.setLocked(state, False)
        coordinate.setClamped(state, False)
    return model, state


def list_couplers(model):
    """Return (dependent, independents, function, factor) of every coupler that is enforced."""
    found = []
    constraints = model.getConstraintSet()
    for i in range(constraints.getSize()):
        coupler = osim.CoordinateCouplerConstraint.safeDownCast(constraints.get(i))
        if coupler is None or not coupler.get_isEnforced():
            continue
        names = coupler.getIndependentCoordinateNames()
        sources = [names.get(k) for k in range(names.getSize())]
        factor = osim.PropertyHelper.getValueDouble(coupler.getPropertyByName("scale_factor"))
        found.append((coupler.getDependentCoordinateName(), sources, coupler.getFunction(), factor))
    return found


def draw_values(model, count, seed):
    """Return names of the coordinates and values, (count, n); the first row is the default pose."""
    rng = np.random.default_rng(seed)
    coordinates = [model.getCoordinateSet().get(i) for i in range(model.getNumCoordinates())]
    names = [coordinate.getName() for coordinate in coordinates]
    low = np.array([max(c.getRangeMin(), -10.0) for c in coordinates])
    high = np.array([min(c.getRangeMax(), 10.0) for c in coordinates])
    excess = RANGE_EXCESS * (high - low) + 0.01
    values = rng.uniform(low - excess, high + excess, (count, len(names)))
    values[0] = [coordinate.getDefaultValue() for coordinate in coordinates]
    for dependent, sources, function, factor in list_couplers(model):
        column = [names.index(source) for source in sources]
        for row in values:
            row[names.index(dependent)] = factor * function.calcValue(
                osim.Vector.createFromMat(row[column])
            )
    return names, values


def write_poses(path, out, count, seed):
    model, state = open_model(path)
    names, values = draw_values(model, count, seed)
    bodies = [model.getBodySet().get(i) for i in range(model.getNumBodies())]
    markers = [model.getMarkerSet().get(i) for i in range(model.getNumMarkers())]
    positions = np.empty((count, len(bodies), 3))
    rotations = np.empty((count, len(bodies), 3, 3))
    places = np.empty((count, len(markers), 3))
    coordinates = [model.getCoordinateSet().get(name) for name in names]
    for row, pose in enumerate(values):
        for coordinate, value in zip(coordinates, pose, strict=True):
            coordinate.setValue(state, float(value), False)
        model.realizePosition(state)
        for k, body in enumerate(bodies):
            transform = body.getTransformInGround(state)
            positions[row, k] = transform.p().to_numpy()
            R = transform.R()
            rotations[row, k] = [[R.get(i, j) for j in range(3)] for i in range(3)]
        for k, marker in enumerate(markers):
            places[row, k] = marker.getLocationInGround(state).to_numpy()
    np.savez(
        out,
        coordinates=np.array(names),
        values=values,
        bodies=np.array([body.getName() for body in bodies]),
        positions=positions,
        rotations=rotations,
        markers=np.array([marker.getName() for marker in markers]),
        places=places,
        masses=np.array([body.getMass() for body in bodies]),
    )


def write_motion_places(path, motion, out):
    """Write where the markers are in each row of a .mot, by OpenSim's own reading of it."""
    model, state = open_model(path)
    table = osim.TimeSeriesTable(motion)
    if table.getTableMetaDataString("inDegrees") == "yes":
        model.getSimbodyEngine().convertDegreesToRadians(table)
    labels = list(table.getColumnLabels())
    coordinates = model.getCoordinateSet()
    markers = [model.getMarkerSet().get(i) for i in range(model.getNumMarkers())]
    places = np.empty((table.getNumRows(), len(markers), 3))
    for row in range(table.getNumRows()):
        values = table.getRowAtIndex(row).to_numpy()
        for i in range(coordinates.getSize()):
            value = float(values[labels.index(coordinates.get(i).getName())])
            coordinates.get(i).setValue(state, value, False)
        model.realizePosition(state)
        for k, marker in enumerate(markers):
            places[row, k] = marker.getLocationInGround(state).to_numpy()
    np.savez(out, markers=np.array([marker.getName() for marker in markers]), places=places)


def give_away(thing):
    """Return an object that C++ takes over and that Python must therefore not delete."""
    thing.thisown = False
    return thing


def make_functions():
    """Return a function of each kind that a custom joint may have."""
    x, y = (-1.5, -0.7, 0.1, 0.8, 1.6), (0.3, -0.2, 0.05, 0.4, -0.1)
    spline, pieces, short = osim.SimmSpline(), osim.PiecewiseLinearFunction(), osim.SimmSpline()
    for k in range(len(x)):
        spline.addPoint(x[k], y[k])
        pieces.addPoint(x[k], y[k])
    for k in range(3):
        short.addPoint(x[k], y[k])
    coefficients = osim.Vector(4, 0.0)
    for k, value in enumerate((0.1, -0.2, 0.3, 0.04)):
        coefficients[k] = value
    return (
        spline,
        pieces,
        short,
        osim.PolynomialFunction(coefficients),
        osim.LinearFunction(0.7, -0.1),
        osim.MultiplierFunction(give_away(spline.clone()), 1.7),
    )


def write_model(path):
    """Write a model with a joint of each kind, through OpenSim's own interface."""
    rng = np.random.default_rng(7)
    model = osim.Model()
    model.setName("all_joints")
    parent = model.getGround()
    kinds = (
        "Ball Gimbal Ellipsoid Free Universal Pin Slider Planar Weld Custom Custom Scapulothoracic"
    )
    functions = list(make_functions())
    for k, kind in enumerate(kinds.split()):
        body = osim.Body(f"body{k}", 1.0 + k, osim.Vec3(0.1, 0.0, 0.0), osim.Inertia(1.0, 1.0, 1.0))
        model.addBody(body)
        vectors = [osim.Vec3(*rng.uniform(-0.5, 0.5, 3).tolist()) for _ in range(4)]
        ends = (parent, vectors[0], vectors[1], body, vectors[2], vectors[3])
        name = f"joint{k}"
        if kind == "Custom":
            transform = osim.SpatialTransform()
            for axis in range(6):
                # Six coordinates of their own in the first; one for all six in the second.
                coordinate = f"{name}_q{axis if k % 2 == 1 else 0}"
                one = transform.updTransformAxis(axis)
                one.setCoordinateNames(osim.ArrayStr(coordinate, 1))
                one.setFunction(give_away(functions[axis].clone()))
                one.setAxis(osim.Vec3(*rng.uniform(-1.0, 1.0, 3).tolist()))
            joint = osim.CustomJoint(name, *ends, transform)
        elif kind == "Ellipsoid":
            joint = osim.EllipsoidJoint(name, *ends, osim.Vec3(0.1, 0.2, 0.3))
        elif kind == "Scapulothoracic":
            radii, origin = osim.Vec3(0.07, 0.15, 0.08), osim.Vec2(0.02, -0.01)
            joint = osim.ScapulothoracicJoint(name, *ends, radii, origin, 0.4)
        else:
            joint = getattr(osim, f"{kind}Joint")(name, *ends)
        model.addJoint(joint)
        frame = osim.PhysicalOffsetFrame(f"frame{k}", body, osim.Transform(vectors[0]))
        body.addComponent(frame)
        model.addMarker(osim.Marker(f"M.{k}", body, vectors[1]))
        model.addMarker(osim.Marker(f"F.{k}", frame, vectors[2]))
        parent = body
    model.finalizeConnections()
    model.printToXML(path)


def run_scale(setup):
    """Run the scale tool as its set-up file says, from that file's folder."""
    os.chdir(os.path.dirname(os.path.abspath(setup)))
    if not osim.ScaleTool(os.path.basename(setup)).run():
        raise SystemExit("the tool failed")


def place_markers(setup, out, accuracy):
    """Do what the scale tool's marker placer does, its static pose solved to this accuracy.

    The placer itself has no accuracy: it takes the assembler's 1e-4, and stops there. Expects what
    `run_scale` wrote.
    """
    os.chdir(os.path.dirname(os.path.abspath(setup)))
    scale = osim.ScaleTool(os.path.basename(setup))
    placer, scaled = scale.getMarkerPlacer(), scale.getModelScaler().getOutputModelFileName()
    first, last = (placer.getTimeRange().get(k) for k in range(2))
    data = osim.MarkerData(placer.getMarkerFileName())
    data.averageFrames(-1.0, first, last)
    data.convertToUnits(osim.Units("m"))
    tool = osim.InverseKinematicsTool()
    tool.set_model_file(scaled)
    tool.set_marker_file(placer.getMarkerFileName())
    tool.set_IKTaskSet(placer.getIKTaskSet())
    tool.setStartTime(first)  # the one frame in the range, which is what the placer's mean is of
    tool.setEndTime(first)
    tool.set_accuracy(accuracy)
    tool.set_output_motion_file("tight.mot")
    if not tool.run():
        raise SystemExit("the tool failed")
    model = osim.Model(scaled)
    names = osim.ArrayStr()
    for k in range(data.getMarkerNames().getSize()):
        names.append(data.getMarkerNames().get(k))
    model.deleteUnusedMarkers(names)
    state = model.initSystem()
    table = osim.TimeSeriesTable("tight.mot")
    model.getSimbodyEngine().convertDegreesToRadians(table)
    values, labels = table.getRowAtIndex(0).to_numpy(), list(table.getColumnLabels())
    for i in range(model.getNumCoordinates()):
        coordinate = model.getCoordinateSet().get(i)
        coordinate.setValue(state, float(values[labels.index(coordinate.getName())]), False)
    model.realizePosition(state)
    for i in range(model.getNumMarkers()):
        marker = model.updMarkerSet().get(i)
        if not marker.get_fixed():
            place = data.getFrame(0).getMarker(data.getMarkerIndex(marker.getName()))
            ground = model.getGround()
            frame = marker.getParentFrame()
            marker.set_location(ground.findStationLocationInAnotherFrame(state, place, frame))
    model.printToXML(out)


def write_properties(path, out):
    """Write what scaling changes: masses, inertias, places in the default pose, muscles, meshes."""
    model = osim.Model(path)
    state = model.initSystem()
    found = {
        key: []
        for key in ("mass", "center", "inertia", "place", "mesh", "marker", "muscle", "wrap")
    }
    for i in range(model.getNumBodies()):
        body = model.getBodySet().get(i)
        found["mass"].append(body.getMass())
        found["center"].append(body.getMassCenter().to_numpy())
        found["inertia"].append(body.getInertia().getMoments().to_numpy())
        found["place"].append(body.getPositionInGround(state).to_numpy())
        for k in range(body.getPropertyByName("attached_geometry").size()):
            found["mesh"].append(body.get_attached_geometry(k).get_scale_factors().to_numpy())
        for k in range(body.getWrapObjectSet().getSize()):
            found["wrap"].append(body.getWrapObjectSet().get(k).get_translation().to_numpy())
    for i in range(model.getNumMarkers()):
        found["marker"].append(model.getMarkerSet().get(i).get_location().to_numpy())
    for i in range(model.getMuscles().getSize()):
        muscle = model.getMuscles().get(i)
        fibre, tendon = muscle.getOptimalFiberLength(), muscle.getTendonSlackLength()
        found["muscle"].append((fibre, tendon, muscle.getLength(state)))
    arrays = {key: np.array(values) for key, values in found.items()}
    np.savez(out, **arrays)  # pyright: ignore[reportArgumentType]


def run_ik(setup, out, accuracy, time_range):
    """Run the IK tool as its set-up file says, from that file's folder; keep its time [s]."""
    os.chdir(os.path.dirname(os.path.abspath(setup)))
    tool = osim.InverseKinematicsTool(os.path.basename(setup))
    if accuracy is not None:
        tool.set_accuracy(accuracy)
    if time_range is not None:
        tool.setStartTime(time_range[0])
        tool.setEndTime(time_range[1])
    begin = time.process_time()
    if not tool.run():
        raise SystemExit("the tool failed")
    np.savez(out, seconds=time.process_time() - begin)


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    poses = commands.add_parser("poses")
    poses.add_argument("model")
    poses.add_argument("out")
    poses.add_argument("--count", type=int, default=200)
    poses.add_argument("--seed", type=int, default=1)
    commands.add_parser("model").add_argument("model")
    commands.add_parser("scale").add_argument("setup")
    place = commands.add_parser("place")
    place.add_argument("setup")
    place.add_argument("out")
    place.add_argument("--accuracy", type=float, required=True)
    properties = commands.add_parser("properties")
    properties.add_argument("model")
    properties.add_argument("out")
    motion = commands.add_parser("motion")
    for name in ("model", "motion", "out"):
        motion.add_argument(name)
    ik = commands.add_parser("ik")
    ik.add_argument("setup")
    ik.add_argument("out")
    ik.add_argument("--accuracy", type=float)
    ik.add_argument("--time-range", type=float, nargs=2)
    given = parser.parse_args()
    osim.Logger.setLevelString("error")
    if given.command == "poses":
        write_poses(given.model, given.out, given.count, given.seed)
    elif given.command == "scale":
        run_scale(given.setup)
    elif given.command == "place":
        place_markers(given.setup, given.out, given.accuracy)
    elif given.command == "properties":
        write_properties(given.model, given.out)
    elif given.command == "motion":
        write_motion_places(given.model, given.motion, given.out)
    elif given.command == "model":
        write_model(given.model)
    else:
        run_ik(given.setup, given.out, given.accuracy, given.time_range)


if __name__ == "__main__":
    main()
