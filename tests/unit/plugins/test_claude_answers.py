"""What an answer of a hook may hold."""

from hermes.plugins.claude_answers import answer_of_claude
from hermes.plugins.claude_hooks import ClaudeHook
from hermes.plugins.hook_process import HookRun
from hermes.plugins.settings import ShellHook

SECRET = "sk-or-v1-0123456789abcdef"
HOOK = ClaudeHook(event="PreToolUse", hook=ShellHook(command="guard", shell=True))


def test_no_part_of_a_secret_stays_where_an_answer_is_cut() -> None:
    for place in range(7_800, 8_100):
        said = HookRun(code=2, errors="a" * place + SECRET + "b" * 40_000)
        answer = answer_of_claude(HOOK, said, lambda words: words.replace(SECRET, "[redacted]"))
        assert "sk-" not in answer.blocks
