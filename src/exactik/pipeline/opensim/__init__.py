"""OpenSim's tools, run from their own set-up files: inverse kinematics and scaling."""

from exactik.pipeline.opensim._ik import SolvedSetup, solve_ik_setup, write_ik_results
from exactik.pipeline.opensim._scale import ScaledModel, scale_model

__all__ = ["ScaledModel", "SolvedSetup", "scale_model", "solve_ik_setup", "write_ik_results"]
