"""A mapping that is being made: every stage of `propose_mapping` adds matches to it."""

from __future__ import annotations

from dataclasses import dataclass, field

from exactik.anatomy.marker_sets import NameReading
from exactik.model import Skeleton
from exactik.model.motion import Markers
from exactik.recordings.calibration.mapping._mapping import MarkerMapping, Match


@dataclass
class Proposal:
    """What is known so far of the markers of a recording."""

    skeleton: Skeleton  # the figure
    markers: Markers  # the recording, in the world of the skeleton
    reading: NameReading  # what the recorded names mean
    own_reading: NameReading  # what the names of the skeleton's markers mean
    # Recorded name → what the marker is; those that no stage has decided are missing
    matches: dict[str, Match] = field(default_factory=dict)

    def list_undecided(self) -> list[str]:
        """Return the recorded markers that have no match yet, in the order of the recording."""
        return [name for name in self.markers.names if name not in self.matches]

    def list_free_markers(self) -> list[str]:
        """Return the skeleton's markers that no recorded one is yet."""
        taken = {match.marker for match in self.matches.values()}
        return [name for name in self.skeleton.markers if name not in taken]

    def known_mapping(self, without: frozenset[str] = frozenset()) -> MarkerMapping:
        """Return the mapping of the markers whose bone is known so far, but for some by name."""
        found = [self.matches[n] for n in self.markers.names if n in self.matches]
        known = (m for m in found if m.bone is not None and m.recorded not in without)
        return MarkerMapping(self.skeleton, tuple(known))
