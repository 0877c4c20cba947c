"""What each key does to the desk."""

from functools import partial

import anyio

from hermes.apps.tui.commands import TuiCommands
from hermes.apps.tui.mentions import pasted_picture
from hermes.apps.tui.model_picker import ModelPicker
from hermes.apps.tui.picker import Picker
from hermes.apps.tui.question_box import BURST, Box, KeyVerdict
from hermes.apps.tui.shell_command import ShellCommand
from hermes.apps.tui.state import TuiState
from hermes.commands.model import choose
from hermes.commands.run import guarded, is_command, kept, run_command
from hermes.commands.skill_settings import ask_for_called, lacks_keys
from hermes.present.touches import has_list, touch_lines
from hermes.types.question import Approve, Deny

_TWICE = 2.0


class DeskActions:
    """The actions of `hermes.apps.tui.keys`, on one desk."""

    def __init__(self, desk: TuiState, talk: TuiCommands) -> None:
        self._desk, self._talk = desk, talk
        self._shell = ShellCommand(desk)
        self._pressed_c = -_TWICE
        self._shown_whole = False

    # ------------------------------------------------------------------ questions

    def boxed(self) -> bool:
        """Whether a question is open, so that keys go through its guard."""
        return self._desk.overlay.box is not None and self._desk.overlay.picker is None

    def hides(self) -> bool:
        """Whether what is typed is not for the eye."""
        return self._desk.overlay.hides

    def box_key(self, key: str) -> bool:
        """Offer a key to the question; False when the editor should handle it."""
        box = self._desk.overlay.box
        if box is None:
            return False
        now = self._desk.now()
        verdict = box.key(key, now, draft=bool(self._desk.editor.text))
        self._settle(box, verdict)
        self._desk.spawn(partial(self._hold, box))
        return not verdict.passed

    def _settle(self, box: Box, verdict: KeyVerdict) -> None:
        if verdict.draft:
            self._desk.editor.insert(verdict.draft)
        if box.answer is not None:
            answer, box.answer = box.answer, None
            if box.settle is not None:
                box.settle(answer)
            elif self._desk.session is not None:
                self._desk.session.answer(box.id, answer)
        self._desk.refresh()

    async def _hold(self, box: Box) -> None:
        """Wait until a key that was held back can no longer be the start of a burst."""
        await anyio.sleep(BURST)
        box.due(self._desk.now())
        self._settle(box, KeyVerdict())

    # ------------------------------------------------------------------ sending

    def enter(self) -> None:
        """Send, accept a completion, break the line after a backslash, or choose from a list."""
        self._desk.overlay.hint = ""
        if self._desk.overlay.picker is not None:
            self._choose()
        elif not (self._desk.editor.menu.items and self._desk.editor.accept()):
            text = self._desk.editor.enter()
            if text:
                self._send(text)
        self._desk.refresh()

    def _send(self, text: str) -> None:
        desk, box = self._desk, self._desk.overlay.box
        desk.overlay.keys, self._shown_whole = False, False
        self._pressed_c = -_TWICE  # something was meant since
        if box is not None and box.takes_words:
            box.words(text)
            self._settle(box, KeyVerdict())
        elif is_command(text, desk.session):
            desk.show(desk.transcript.sent(kept(text)))
            desk.spawn(partial(self._run_command, text))
        elif text.startswith("!"):
            self._shell.start(text)
        elif desk.session is None and desk.region.opened:
            desk.warn(
                "No model is set; /model NAME http://host:port/v1 sets one. Up brings your message back."
            )
        elif desk.session is not None and lacks_keys(self._talk, text):
            desk.spawn(partial(self._send_with_keys, text))
        else:
            desk.conversation.send(text)

    async def _send_with_keys(self, text: str) -> None:
        """Send a message once the keys of its skills were asked for."""
        await guarded(self._talk, ask_for_called(self._talk, text))
        self._desk.conversation.send(text)

    async def _run_command(self, text: str) -> None:
        await run_command(text, self._talk)
        await self._desk.update_status()
        self._desk.conversation.proceed()  # what was typed while older messages were summed up

    def _choose(self) -> None:
        desk = self._desk
        picker, words = desk.overlay.picker, desk.editor.text
        desk.overlay.picker = None
        desk.screen.buffer.reset()
        if isinstance(picker, ModelPicker) and (model := picker.choice(words)) is not None:
            desk.spawn(lambda: guarded(self._talk, choose(self._talk, model.wish)))
        elif isinstance(picker, Picker) and (row := picker.choice(words)) is not None:
            desk.spawn(partial(run_command, f"/resume {row.id}", self._talk))

    def tab(self) -> None:
        """Accept a completion, queue a message, or widen the list of sessions."""
        desk = self._desk
        if desk.overlay.picker is not None:
            desk.overlay.picker.everywhere()
        elif desk.editor.menu.items:
            desk.editor.accept()
        elif desk.conversation.busy and desk.editor.text.strip() and not desk.overlay.hides:
            desk.conversation.queue(desk.editor.take())
        desk.refresh()

    # ------------------------------------------------------------------ moving, closing, stopping

    def move(self, steps: int) -> bool:
        """Move in what is open over the editor; False when nothing is."""
        if self._desk.overlay.picker is not None:
            self._desk.overlay.picker.move(steps, self._desk.editor.text)
        elif self._desk.editor.menu.items:
            self._desk.editor.move(steps)
        else:
            return False
        self._desk.refresh()
        return True

    def escape(self) -> None:
        """Close what is open, or stop the turn."""
        desk = self._desk
        if desk.overlay.picker is not None:
            desk.overlay.picker = None
            desk.screen.buffer.reset()
        elif desk.editor.menu.items:
            desk.editor.close_menu()
        elif desk.overlay.keys:
            desk.overlay.keys = False
        elif self._shell.busy:
            self._shell.stop()
        else:
            desk.conversation.stop()
        desk.refresh()

    def control_c(self) -> None:
        """Clear the draft, stop the turn, or leave."""
        desk, now = self._desk, self._desk.now()
        twice, self._pressed_c = now - self._pressed_c < _TWICE, now
        desk.overlay.hint = "Ctrl-C again leaves"
        if desk.editor.text:
            desk.editor.take()  # typed since: these words are not thrown away with the screen
            if desk.conversation.busy or self._shell.busy:
                self._pressed_c = -_TWICE  # what runs is stopped before anybody leaves
                desk.overlay.hint = "Ctrl-C again stops what runs"
        elif twice:
            desk.screen.stop()
            return
        elif desk.overlay.picker is not None or desk.overlay.keys:
            self.escape()
        elif (box := desk.overlay.box) is not None and (box.settle or not desk.conversation.busy):
            box.answer = Deny()
            self._settle(box, KeyVerdict())
        elif self._shell.busy:
            self._shell.stop()
        else:
            desk.conversation.stop()
        desk.spawn(self._forget_hint)
        desk.refresh()

    async def _forget_hint(self) -> None:
        await anyio.sleep(_TWICE)
        self._desk.overlay.hint = ""
        self._desk.refresh()

    def control_d(self) -> None:
        """Leave; it is bound for an empty draft."""
        self._desk.screen.stop()

    # ------------------------------------------------------------------ the rest

    def paste(self, data: str) -> None:
        """Take in pasted text; it is never an answer."""
        box = self._desk.overlay.box
        if box is not None:
            self._settle(box, box.paste(self._desk.now()))
        picture = pasted_picture(data, self._desk.start.cwd)
        self._desk.editor.paste(f"{picture} " if picture else data)

    def question_mark(self) -> None:
        """Show or hide the keys."""
        self._desk.overlay.keys = not self._desk.overlay.keys
        self._desk.refresh()

    def show_whole(self) -> None:
        """Open the chip before the cursor, or show what the open question would touch, or the last output
        whole; the second time all of the turn.
        """
        box = self._desk.overlay.box
        if box is not None and isinstance(box.question, Approve) and has_list(box.question.touches):
            rows = touch_lines(box.question.touches, self._desk.transcript.width)
            self._desk.show(self._desk.transcript.block("touches", rows))
        elif not self._desk.editor.open_chip():
            rows = self._desk.transcript.whole(every=self._shown_whole)
            self._shown_whole = True
            self._desk.show(self._desk.transcript.block("whole", rows))

    def show_thinking(self) -> None:
        """Show the model's reasoning."""
        self._desk.show(self._desk.transcript.block("thinking", self._desk.transcript.thought_lines()))

    def mode(self) -> None:
        """Go on to the next mode of edits."""
        self._desk.spawn(partial(self._run_command, "/edits"))

    def edit_waiting(self) -> None:
        """Put the waiting messages back into the editor."""
        waiting = self._desk.conversation.take_waiting()
        if waiting:
            self._desk.returned(waiting)

    def clear_window(self) -> None:
        """Empty the window."""
        self._desk.screen.clear()
