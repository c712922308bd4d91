"""The packed tree: forward kinematics, integration and Jacobians."""
