"""Erleben & Andrews 2018: inverse kinematics with exact Hessians."""
