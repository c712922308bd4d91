"""Motions taken over by other figures and robots: `retarget` and what it is made of."""

from exactik.retargeting._bodies import find_body_up
from exactik.retargeting._contacts import Contact, ContactOptions, find_contacts
from exactik.retargeting._correspondence import (
    BonePair,
    Correspondence,
    load_mapping,
    save_mapping,
)
from exactik.retargeting._result import (
    MAX_HAND_ERROR,
    MAX_SLIDE,
    HingeSpeed,
    Retargeting,
    TurnSteps,
)
from exactik.retargeting._retarget import retarget
from exactik.retargeting.body import Anatomy, BodyFigure, BodyPart, SourceBody, find_anatomy

__all__ = [
    "MAX_HAND_ERROR",
    "MAX_SLIDE",
    "Anatomy",
    "BodyFigure",
    "BodyPart",
    "BonePair",
    "Contact",
    "ContactOptions",
    "Correspondence",
    "HingeSpeed",
    "Retargeting",
    "SourceBody",
    "TurnSteps",
    "find_anatomy",
    "find_body_up",
    "find_contacts",
    "load_mapping",
    "retarget",
    "save_mapping",
]
