"""Whether tools can be used now: their checks' answers, remembered for half a minute."""

import time
from collections.abc import Callable, Iterable

from msgspec import Struct, field

from hermes.types.ctrl_c import is_ctrl_c

CHECK_SECONDS = 30.0


class Checks(Struct):
    """Answers of availability checks, remembered for 30 s; a check that raises counts as no."""

    clock: Callable[[], float] = time.monotonic  # noqa: TID251  # not yet a port
    _known: dict[Callable[[], object], tuple[float, bool]] = field(default_factory=dict)

    def available(self, check: Callable[[], object] | None) -> bool:
        """Ask a check, once in 30 s however many tools share it; without a check the answer is yes."""
        if check is None:
            return True
        asked, answer = self._known.get(check, (float("-inf"), False))
        if self.clock() - asked < CHECK_SECONDS:
            return answer
        try:
            answer = bool(check())
        except BaseException as error:  # fail-safe: a broken check means unavailable
            if is_ctrl_c(error):
                raise
            answer = False
        self._known[check] = (self.clock(), answer)
        return answer

    def fresh_until(self, checks: Iterable[Callable[[], object] | None]) -> float:
        """The time at which the first of these answers is asked anew."""
        asked = (self._known[check][0] for check in checks if check in self._known)
        return min(asked, default=float("inf")) + CHECK_SECONDS
