"""Joints: what moves, kind by kind, and axes that functions of coordinates drive."""

from exactik.model.joints._axis import JointAxis
from exactik.model.joints._joint import EULER_ORDERS, Joint
from exactik.model.joints._kinds import JOINT_KINDS, JointKind
