"""The panel beside the scene: pins, balance, mirror and undo first, solvers last."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from exactik.io import readable_suffixes
from exactik.solvers import Result
from exactik.studio.viewer._balance import describe_balance
from exactik.studio.viewer._history import UndoOrder
from exactik.studio.viewer._limits import LimitState
from exactik.studio.viewer.keyframes import Keyframes
from exactik.studio.viewer.page.camera import measure_box
from exactik.studio.viewer.page.channel import PageChannel
from exactik.studio.viewer.page.scene import add_look_widget
from exactik.studio.viewer.page.surroundings import Surroundings
from exactik.studio.viewer.page.upload import Uploads, add_open_button
from exactik.studio.viewer.page.widgets import add_hotkey, escape_markdown, on_press, on_value
from exactik.studio.viewer.posing._autosave import Autosave
from exactik.studio.viewer.posing._scene import BalanceScene, HandleScene
from exactik.studio.viewer.posing._session import PosingSession, Update
from exactik.studio.viewer.posing._worker import PosingWorker
from exactik.studio.viewer.posing.panel._advanced import AdvancedPanel
from exactik.studio.viewer.posing.panel._joints import JointPanel
from exactik.studio.viewer.posing.panel._keys import KeyPanel
from exactik.studio.viewer.posing.panel._timeline import TimelineBar
from exactik.studio.viewer.posing.panel._words import REACHED, PoseWords

FIGURE_SUFFIXES = readable_suffixes("skeleton")
CLICK_HINT = "Click a bone to turn it; drag it to pull it."
JOIN_HINT = "Select two handles one after the other: they stay as they are to each other."
NO_HANDLE = "none"
TEXT_PERIOD_S = 0.1  # between two changes of text
TABS = ("Pose", "Joints", "Keys", "Library", "Advanced")


class Panel:
    """Widgets in tabs, which post commands to the worker."""

    def __init__(
        self,
        server: Any,
        session: PosingSession,
        worker: PosingWorker,
        handles: HandleScene,
        surroundings: Surroundings,
        balance: BalanceScene,
        *,
        uploads: Uploads,
        open_file: Callable[[Path], object],
        say: Callable[[str], object],
    ):
        """Add the widgets to a viser server.

        `open_file` is called with files from the page, `say` with why one cannot be opened: by
        then another file may have replaced this panel.
        """
        self.surroundings, self.balance = surroundings, balance
        self.server, self.session, self.worker, self.handles = server, session, worker, handles
        self.words = PoseWords(session.skeleton)
        self._last_text, self._searched = 0.0, False  # whether nothing better was found
        gui = server.gui
        self.channel = PageChannel(server)
        timeline = TimelineBar(server, self.channel)
        self.status = gui.add_markdown("at rest")
        self.search = gui.add_button("search for another pose", color="gray", visible=False)
        self._add_buttons(gui)
        self.open = add_open_button(gui, uploads, "open a figure…", FIGURE_SUFFIXES, open_file, say)
        self.message = gui.add_markdown("", visible=False)
        group = gui.add_tab_group()
        tabs = {name: group.add_tab(name) for name in TABS}
        with tabs["Joints"]:
            self.joints = JointPanel(server, session, worker, self.words.joints)
        with tabs["Keys"]:
            self.keys = KeyPanel(server, session, worker, handles, timeline)
        with tabs["Library"]:
            self.library = LibraryPanel(server, self.keys.keys, self.keys.post)
        with tabs["Advanced"]:
            self.advanced = AdvancedPanel(server, session, worker, handles)
        with tabs["Pose"]:
            self._add_handle_widgets(gui)
            gui.add_divider()
            self._add_pose_widgets(gui)
            gui.add_divider()
            self._add_view_widgets(gui)
        compare = self.advanced.compare
        self.channel.on("tab", lambda event: compare.set_tab(str(event["name"])))
        self.keys.on_change = self.library.show
        surroundings.on_dark(self.keys.onion_skins.set_dark)
        self.keys.refresh()
        self.order = UndoOrder({"pose": session, "keys": self.keys})
        session.on_step(lambda: self.order.note("pose"))
        self.keys.keys.on_step(lambda: self.order.note("keys"))
        handles.on_select = self._show_selected
        handles.on_select_bone = self._show_bone

    # --- what is shown

    def show(self, update: Update, limits: LimitState) -> None:
        """Show the result of an update; texts change ten times a second at most."""
        self.advanced.convergence.add(update)
        if update.moved > 0.0:
            self._searched = False
            self.advanced.compare.clear()
        now = time.perf_counter()
        if now - self._last_text < TEXT_PERIOD_S and not update.resting:
            return
        self._last_text = now
        skeleton = self.session.skeleton
        drawn = [n for n in limits.named(skeleton) if limits.bones[self._bone_of(n)] > 0]
        handles = self.session.handles
        errors = {handles[n].bone: e for n, e in update.handle_errors.items() if n in handles}
        told = self.words.describe_move(errors, drawn, update.q)
        self.status.content = escape_markdown(told)
        self.advanced.convergence.draw()
        self.joints.show(limits)
        self._show_state()
        self.show_balance()

    def _bone_of(self, dof: str) -> int:
        skeleton = self.session.skeleton
        return int(skeleton.dof_bones[skeleton.dof_names.index(dof)])

    def show_balance(self) -> None:
        """Show whether the figure would fall, if that is asked for."""
        balance = self.balance.draw(self.session.pose())
        self.balance_text.visible = self.balance.visible
        if self.balance.visible:
            note = self.session.skeleton.masses_note
            self.balance_text.content = escape_markdown(describe_balance(balance, note))

    def say(self, sentence: str) -> None:
        """Show a sentence below the button that opens files; nothing in it is markup."""
        self.message.content = escape_markdown(sentence)
        self.message.visible = sentence != ""

    def show_verdict(self, verdict: Result | None) -> None:
        """Say how well the goals are met; that stays until something else is done."""
        told = "" if verdict is None else self.words.describe_result(verdict)
        is_short = told not in ("", REACHED) and len(self.session.dragged) == 0
        self.search.visible = is_short and not self._searched
        if is_short and self._searched:
            told += " No better pose was found."
        if told != "":
            self.status.content = escape_markdown(told)

    def offer(self, autosave: Autosave) -> None:
        """Offer what an earlier program left."""
        if autosave.last is None:
            return
        self.message.content = escape_markdown(autosave.describe_last())
        self.message.visible = True
        self.restore.visible = True

        def answer(button: str) -> None:
            self.restore.visible = self.message.visible = False
            if button == "restore":
                self.keys.post(lambda session: autosave.restore())

        on_press(self.restore, answer)

    # --- widgets

    def _add_buttons(self, gui: Any) -> None:
        actions = {
            "undo": (lambda _: self.order.undo(), "Z", "cmd/ctrl"),
            "redo": (lambda _: self.order.redo(), "Z", "cmd/ctrl+shift"),
            "reset": (lambda s: s.reset(), "R", None),
        }
        row = gui.add_button_group("", tuple(actions))
        on_press(row, lambda name: self.worker.post(actions[name][0]))
        for name, (action, key, modifier) in actions.items():
            add_hotkey(gui, name.capitalize(), key, partial(self.worker.post, action), modifier)
        self.restore = gui.add_button_group("", ("restore", "forget"), visible=False)

        @self.search.on_click
        async def _(_: Any) -> None:
            self.status.content = "searching …"
            self.worker.post(self._search)

    def _search(self, session: PosingSession) -> None:
        self._searched = not session.search()

    def _add_handle_widgets(self, gui: Any) -> None:
        self.handle = gui.add_dropdown("handle", [NO_HANDLE, *self.handles.names])
        self.pinned = gui.add_checkbox("pinned", False, hint="Stays while others are dragged.")
        self.oriented = gui.add_checkbox("orientation", False, hint="Its rotation is a goal.")
        together = gui.add_button_group("two handles", ("hold together",), hint=f"J: {JOIN_HINT}")
        self.joined = gui.add_markdown("", visible=False)
        self.bone = gui.add_markdown(CLICK_HINT)

        def pin(_: bool) -> None:
            name, pinned, oriented = self.handle.value, self.pinned.value, self.oriented.value
            if name != NO_HANDLE:
                self.worker.post(lambda s: s.pin(name, pinned, oriented=oriented))

        def select(name: str) -> None:
            if name != NO_HANDLE:
                self.handles.select(name)

        on_value(self.handle, select, by_page=True)
        on_value(self.pinned, pin, by_page=True)
        on_value(self.oriented, pin, by_page=True)
        on_press(together, lambda _: self.worker.post(self._join))
        add_hotkey(gui, "Hold two handles together", "J", lambda: self.worker.post(self._join))

    def _join(self, session: PosingSession) -> None:
        """Join the two handles that were selected last, or part them if they are joined."""
        first, second = self.handles.selected_before, self.handles.selected
        if first == "" or second == "":
            self.say(JOIN_HINT)
            return
        self.say("")
        held = any(join.pair == {first, second} for join in session.state.joins)
        session.join(first, second, not held)

    def _add_pose_widgets(self, gui: Any) -> None:
        known = len(self.session.skeleton.masses) > 0
        self.keep_balance = gui.add_checkbox(
            "keep balance", False, disabled=not known, hint="The feet stay below the weight."
        )
        self.balance_switch = gui.add_checkbox(
            "show balance", False, hint="The centre of mass above what touches the floor."
        )
        self.balance_text = gui.add_markdown("", visible=False)
        self.keep_apart = gui.add_checkbox(
            "no self-collision", False, hint="Bodies do not cross each other."
        )
        mirror = gui.add_button_group("left and right", ("mirror",), hint="M: they are exchanged.")
        self.in_place = gui.add_checkbox(
            "in place", False, hint="About the figure's own heading; else about its first place."
        )
        self.limits = gui.add_checkbox("keep limits", self.session.state.limits)

        def show_balance(on: bool) -> None:
            self.balance.visible = bool(on)
            self.worker.post(lambda s: None)  # redraws

        def keep_balance(on: bool) -> None:
            self.balance_switch.value = bool(on) or self.balance_switch.value
            self.worker.post(lambda s: s.keep_balance(bool(on)))

        def mirror_pose(session: PosingSession) -> None:
            session.set_pose(self.keys.keys.mirrored(session.q, in_place=bool(self.in_place.value)))

        on_value(self.balance_switch, show_balance)
        on_value(self.keep_balance, keep_balance, by_page=True)
        on_value(
            self.keep_apart, lambda on: self.worker.post(lambda s: s.keep_apart(on)), by_page=True
        )
        on_press(mirror, lambda _: self.keys.post(mirror_pose))
        add_hotkey(gui, "Mirror pose", "M", lambda: self.keys.post(mirror_pose))
        on_value(
            self.limits, lambda keep: self.worker.post(lambda s: s.keep_limits(keep)), by_page=True
        )

    def _add_view_widgets(self, gui: Any) -> None:
        self.surroundings.add_views(gui, lambda: measure_box(self.session.pose()).points)
        self.look = add_look_widget(gui, self.handles.figure, self._show_as)
        self.dark = self.surroundings.add_widget(gui)

    def _show_as(self, look: str) -> None:
        with self.server.atomic():
            self.handles.figure.show_as(look)
        self.server.flush()

    # --- what is selected, and how it is set

    def _show_selected(self, name: str) -> None:
        if name in self.session.handles:
            self.handle.value = name
            self.advanced.weight.value = self.session.handles[name].weight
            self._show_state()
        self.bone.content = CLICK_HINT

    def _show_state(self) -> None:
        """Show what undo and others may have changed."""
        state = self.session.state
        handle = state.handles.get(self.handles.selected)
        shown = [
            (self.limits, state.limits),
            (self.keep_balance, state.balanced),
            (self.keep_apart, state.apart),
        ]
        if handle is not None:
            shown += [(self.pinned, handle.pinned), (self.oriented, handle.oriented)]
        for widget, value in shown:
            if widget.value != value:
                widget.value = value
        name = self.words.name_bone
        joins = [(state.handles[j.first], state.handles[j.second]) for j in state.joins]
        pairs = [f"{name(first.bone)} and {name(second.bone)}" for first, second in joins]
        self.joined.content = escape_markdown(f"Held together: {', '.join(pairs)}.")
        self.joined.visible = len(pairs) > 0

    def _show_bone(self, name: str) -> None:
        bone = escape_markdown(self.words.name_bone(name))
        self.bone.content = f"The gizmo turns the {bone} alone."
        self.joints.choose(name)


# --- the library of poses in the panel


NO_POSE = "none"


class LibraryPanel:
    """Widgets that save, apply and delete poses."""

    def __init__(self, server: Any, keys: Keyframes, post: Callable[[Callable[..., None]], None]):
        """Add the widgets; `post` runs a function with the session, and shows its errors."""
        self.keys, self._post = keys, post
        gui = server.gui
        self.name = gui.add_text("name", "pose 1")
        self.pose = gui.add_dropdown("pose", (NO_POSE,))
        row = gui.add_button_group("", ("save", "apply", "delete"))
        run = {"save": self.save, "apply": self.apply, "delete": self.delete}
        on_press(row, lambda name: self._post(run[name]))

    def save(self, session: PosingSession) -> None:
        """Keep the pose of the session by the name in the field."""
        self.keys.save_pose(self.name.value, session.q)
        self.show()
        self.pose.value = self.name.value.strip()
        self.name.value = f"pose {len(self.keys.poses) + 1}"

    def apply(self, session: PosingSession) -> None:
        """Give the session the chosen pose."""
        if self.pose.value in self.keys.poses:
            session.set_pose(self.keys.poses[self.pose.value])

    def delete(self, session: PosingSession) -> None:
        """Remove the chosen pose."""
        if self.pose.value in self.keys.poses:
            self.keys.delete_pose(self.pose.value)
            self.show()

    def show(self) -> None:
        """Show the names of the poses."""
        options = tuple(self.keys.poses) or (NO_POSE,)
        if options != tuple(self.pose.options):
            self.pose.options = options
