"""What is kept of a yes to a hook is kept whole, however many give one at once."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hermes.plugins.hook_consent import FILE, HookConsent
from hermes.plugins.settings import ShellHook


def test_each_yes_is_kept_where_many_are_given_at_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    hooks = [ShellHook(command=f"echo {number}") for number in range(40)]

    def accepted(hook: ShellHook) -> None:
        HookConsent(tmp_path).accept("Stop", hook)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(accepted, hooks))
    assert [one for one in hooks if not HookConsent(tmp_path).covers("Stop", one)] == []
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
