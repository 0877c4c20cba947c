"""One sandbox of a cloud, whichever vendor's it is: made when it is first needed, and its library's errors in
our words.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from hermes.types.error import EnvironmentUnavailable, ExecError


class Vendor(Protocol):
    """What a vendor's library can do; every method blocks, and raises one of `errors` when it cannot do its
    work.
    """

    name: str
    title: str

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """What its library raises."""

    def make(self) -> Any:
        """The sandbox of an earlier session, running, or a new one; those of processes of ours that are gone
        are removed.
        """

    def give_back(self, sandbox: Any) -> None:
        """Stop or remove it, as the settings say."""

    def fault(self, sandbox: Any) -> str:
        """Why it cannot be used, "" when it can."""

    def run(self, sandbox: Any, script: str) -> bytes:
        """What `bash -c script` prints there."""


class CloudSandbox:
    """A vendor's sandbox, or none yet."""

    def __init__(self, vendor: Vendor) -> None:
        self.name = vendor.name
        self._vendor = vendor
        self._errors: tuple[type[Exception], ...] = (
            *vendor.errors,
            RuntimeError,
        )  # what clients raise that were closed meanwhile
        self._sandbox: Any = None

    def open(self) -> None:
        """Make it, unless it is there and runs."""
        if not self.fault():
            return
        try:
            self._sandbox = self._vendor.make()
        except self._errors as error:
            raise EnvironmentUnavailable(
                f"A {self._vendor.title} sandbox could not be made: {error}"
            ) from error

    def close(self) -> None:
        """Give it back."""
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            with self._translated("The {} sandbox could not be ended"):
                self._vendor.give_back(sandbox)

    def fault(self) -> str:
        """Why it cannot be used, "" when it can."""
        if self._sandbox is None:
            return "there is no sandbox"
        try:
            return self._vendor.fault(self._sandbox)
        except self._errors as error:
            return str(error)

    def call(self, script: str) -> bytes:
        """What a script prints there."""
        if self._sandbox is None:
            raise ExecError("there is no sandbox")
        with self._translated("{}"):
            return self._vendor.run(self._sandbox, script)

    @contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        try:
            yield
        except self._errors as error:
            raise ExecError(f"{what.format(self._vendor.title)}: {error}") from error
