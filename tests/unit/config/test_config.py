import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from hermes.agent.guardrails import GuardrailSettings, LoopLimits
from hermes.agent.settings import AgentSettings, BudgetSettings, TrajectorySettings
from hermes.apps.settings import edit, known_keys, load
from hermes.config.edit import absent, append_to_list, set_key, set_secret, unset_key
from hermes.config.environ import with_dotenv
from hermes.config.home import locate, make_profile, profiles_of
from hermes.config.names import setting_names
from hermes.environments.settings import TerminalSettings
from hermes.models.settings import (
    AuxiliarySettings,
    CachingSettings,
    Fallback,
    ModelSettings,
    OwnModel,
    OwnProvider,
    PriceSettings,
    ProviderSettings,
)
from hermes.safety.settings import AllowlistSettings
from hermes.tools.settings import ToolSettings
from hermes.types.error import ConfigError

TEXT = """\
# my settings
model: openai/gpt-5   # the good one
agent:
  max_turns: 12
  # a key from a newer version
  future: [1, 2]
terminal: {timeout: 30}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "config.yaml"
    file.write_text(TEXT)
    return file


def test_every_value_knows_where_it_came_from(path: Path) -> None:
    loaded = load(path, {"TERMINAL_TIMEOUT": "99"}, {"agent.max_turns": 3})
    told = {
        key: (loaded.values[key].value, loaded.values[key].origin)
        for key in ("model.default", "agent.max_turns", "terminal.timeout", "display.ascii")
    }
    assert told == {
        "model.default": ("openai/gpt-5", "config.yaml line 2"),
        "agent.max_turns": (3, "--max-turns"),
        "terminal.timeout": (99, "TERMINAL_TIMEOUT"),
        "display.ascii": (False, "default"),
    }
    assert (loaded.settings[AgentSettings].max_turns, loaded.settings[TerminalSettings].timeout) == (3, 99)


def test_unknown_keys_warn_with_the_nearest_known_one(path: Path) -> None:
    path.write_text("agent:\n  max_turn: 3\nmodle: x\n")
    assert load(path, {}).warnings == (
        "config.yaml line 2: nobody knows the key agent.max_turn; it has no effect. Did you mean agent.max_turns?",
        "config.yaml line 3: nobody knows the key modle; it has no effect. Did you mean models?",
    )


def test_keys_of_others_are_told_what_says_the_same_here(path: Path) -> None:
    path.write_text("model:\n  provider: anthropic\nfallback_model:\n  model: x\n")
    said = [told.partition(" Here ")[2].rstrip(".") for told in load(path, {}).warnings]
    assert said == [
        "the provider is the first part of model.default, such as anthropic/claude-sonnet-5",
        "models to go on with are in fallback_providers",
    ]
    known = {item.key for item in known_keys()}
    for key, told in setting_names().meant.items():
        assert key not in known
        assert {word for word in known if word in told.replace(",", "").split()}, told


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "capabilities: {wrte: [a]}",
            "would not hold. Did you mean capabilities.write?",
        ),
        (
            "capabilites: {write: []}",
            "they would not hold. Did you mean capabilities.write?",
        ),
        ("capabilities: no", "nobody knows the key capabilities"),
        ("capabilities: {write: notes}", "capabilities.write is 'notes': expected a list, got text"),
        (
            "capabilities: {unconfined: 'no'}",
            "capabilities.unconfined is 'no': expected true or false, got text",
        ),
        (
            "context_files: {phrases: ['x(']}",
            "context_files.phrases: 'x(' is no regular expression (missing )",
        ),
        ("context_files: {phrases: ['x*']}", "context_files.phrases: 'x*' matches where nothing stands"),
        ("capabilities: {hosts: ['http://x/']}", "capabilities.hosts: 'http://x/' is no host"),
        ("terminal: {network: [ex ample]}", "terminal.network: 'ex ample' is no host"),
        (
            "terminal: {sandbox_mode: readonly}",
            "it takes read-only, workspace or full",
        ),
    ],
)
def test_a_bound_that_is_not_understood_is_a_fault_and_no_warning(path: Path, text: str, fault: str) -> None:
    path.write_text(f"{text}\n")
    with pytest.raises(ConfigError) as told:
        load(path, {})
    assert fault in str(told.value)


def test_what_is_like_no_bound_is_none(path: Path) -> None:
    path.write_text("capacity: 3\ncapabilities:\n")
    assert len(load(path, {}).warnings) == 1


def test_all_faults_are_told_at_once(path: Path) -> None:
    path.write_text("agent: {max_turns: x}\nterminal:\n  timeout: [1]\napprovals:\n  mode: maybe\n")
    with pytest.raises(ConfigError) as fault:
        load(path, {"HERMES_MAX_ITERATIONS": "few"})
    assert [line.split(":")[0] for line in str(fault.value).splitlines()] == [
        "config.yaml line 1",
        "config.yaml line 3",
        "config.yaml line 5",
        "HERMES_MAX_ITERATIONS",
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [1", "config.yaml line 1: this is not valid YAML"),
        ("- a\n- b\n", "holds keys and values"),
        ("\x00", "not valid YAML"),
        ("model: {default: !!bool maybe}", "not valid YAML"),
        ("model: !!int ''", "not valid YAML"),
    ],
)
def test_what_is_no_settings_file_is_told(path: Path, text: str, words: str) -> None:
    path.write_text(text)
    with pytest.raises(ConfigError, match=words):
        load(path, {})


def test_an_empty_or_missing_file_means_defaults(path: Path) -> None:
    path.write_text("# nothing yet\n")
    assert load(path, {}).settings == load(path.with_name("none.yaml"), {}).settings


def test_variables_are_expanded(path: Path) -> None:
    path.write_text("model: {base_url: 'http://${HOST}:1/v1', default: '${UNSET}'}\n")
    loaded = load(path, {"HOST": "127.0.0.1"}).settings
    assert (loaded[ModelSettings].base_url, loaded[ModelSettings].default) == (
        "http://127.0.0.1:1/v1",
        "${UNSET}",
    )


def test_an_allowed_command_keeps_its_own_variables(path: Path) -> None:
    path.write_text("command_allowlist: ['/w$ make ${TARGET}']\n")
    assert load(path, {"TARGET": "clean; rm -rf src"}).settings[AllowlistSettings].command_allowlist == [
        "/w$ make ${TARGET}"
    ]


def test_comments_order_and_unknown_keys_survive_an_edit(path: Path) -> None:
    set_key(path, "agent.max_turns", "20")
    assert path.read_text() == TEXT.replace("max_turns: 12", "max_turns: 20").replace(
        "{timeout: 30}", "{timeout: 30}"
    )
    append_to_list(path, "command_allowlist", "/w$ make deploy")
    append_to_list(path, "command_allowlist", "/w$ make deploy")
    assert path.read_text().endswith("command_allowlist:\n- /w$ make deploy\n")
    assert (unset_key(path, "agent.max_turns"), unset_key(path, "agent.max_turns")) == (True, False)
    assert "future: [1, 2]" in path.read_text()


def test_a_key_that_is_set_and_unset_leaves_nothing_to_warn_of(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    set_key(path, "display.bell", "true")
    assert unset_key(path, "display.bell")
    assert (path.read_text(), load(path, {}).warnings) == ("", ())


def test_a_section_whose_keys_are_all_commented_out_is_no_fault(path: Path) -> None:
    path.write_text("display:\n  # bell: true\nterminal: {}\n")
    assert load(path, {}).warnings == ()


def test_a_variable_in_the_file_is_never_resolved_to_disk(path: Path) -> None:
    path.write_text("model: {base_url: 'http://${HOST}/v1'}\n")
    set_key(path, "agent.max_turns", "5")
    assert "${HOST}" in path.read_text()


def test_a_key_that_is_not_set_is_told_from_one_that_there_is_not(path: Path) -> None:
    assert str(absent(path, "agent.max_turn")) == (
        "There is no key agent.max_turn. Did you mean agent.max_turns? hermes config list shows them all."
    )
    for key in ("display.bell", "providers.mine.base_url"):
        assert str(absent(path, key)) == f"{key} is not set in {path}; its default is in force."


@pytest.mark.parametrize(
    ("key", "text", "words"),
    [
        ("agent.max_turn", "3", "Did you mean agent.max_turns?"),
        ("agent.max_turns", "lots", "agent.max_turns cannot be 'lots': expected a whole number, got text."),
        (
            "model.repetition_limit",
            "-1",
            "model.repetition_limit cannot be '-1': expected a whole number >= 0.",
        ),
        ("agent.prompt", "x", "agent.prompt cannot be 'x': it takes auto or full."),
        ("approvals.mode", "x", "approvals.mode cannot be 'x': it takes manual, smart or off."),
        ("providers.mine.protocol", "x", "cannot be 'x': protocol takes "),
        ("providers.mine.base_url", "3", "base_url: expected text, got a whole number."),
        ("providers.mine.adress", "x", "ca_cert or sign_in, not `adress`."),
        ("agent.max_turns", "-4", "agent.max_turns cannot be '-4': expected a whole number >= 1."),
        ("model.max_retries", "-1", "model.max_retries cannot be '-1': expected a whole number >= 0."),
        ("terminal.timeout", "0", "terminal.timeout cannot be '0': expected a whole number >= 1."),
        ("toolsets", "3", "toolsets cannot be '3': expected a list, got a whole number."),
    ],
)
def test_a_wrong_edit_changes_nothing_and_is_told_with_what_is_taken(
    path: Path, key: str, text: str, words: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(words)):
        set_key(path, key, text)
    assert path.read_text() == TEXT


keys = [
    item
    for item in known_keys()
    if item.kind is not None and isinstance(item.default, bool | int) and not isinstance(item.default, float)
]


@settings(max_examples=25)
@given(st.sampled_from(keys), st.integers(1, 500), st.booleans())
def test_what_was_set_is_what_is_loaded(item: object, number: int, flag: bool) -> None:
    import tempfile

    known = next(one for one in keys if one is item)
    told = msgspec.inspect.type_info(known.kind)
    bounds = getattr(told, "type", told)
    at_least = max(number, getattr(bounds, "ge", None) or number)
    wanted = (
        flag if isinstance(known.default, bool) else min(at_least, getattr(bounds, "le", None) or at_least)
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config.yaml"
        set_key(file, known.key, str(wanted).lower())
        assert load(file, {}).values[known.key].value == wanted


def refuses(kind: Any, number: float) -> bool:
    """Whether a kind of value that takes numbers does not take this one."""
    try:
        msgspec.convert(number, kind)
    except msgspec.ValidationError as error:
        return ">=" in str(error) or "> 0" in str(error)
    return False


def takes_numbers(kind: Any) -> bool:
    try:
        msgspec.convert(1, kind)
    except msgspec.ValidationError as error:
        return ">=" in str(error)
    return True


def tables_in(kind: Any) -> Iterator[type[msgspec.Struct]]:
    """The tables that a key's value may hold."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
        for inner in get_type_hints(kind, include_extras=True).values():
            yield from tables_in(inner)
    for part in get_args(kind):
        yield from tables_in(part)


def test_every_number_has_a_bound_below() -> None:
    kinds = {item.key: item.kind for item in known_keys()}
    within = {table for kind in kinds.values() for table in tables_in(kind)}
    for table in within:
        for name, kind in get_type_hints(table, include_extras=True).items():
            kinds[f"{table.__name__}.{name}"] = kind
    numbers = {key: kind for key, kind in kinds.items() if takes_numbers(kind)}
    assert "OwnModel.context_window" in numbers
    assert [key for key, kind in numbers.items() if not refuses(kind, -1)] == []


@pytest.mark.parametrize(
    ("key", "given", "taken"),
    [
        ("model.context_window", "-5", "a whole number >= 0"),
        ("model.idle_timeout", "0", "a number > 0.0"),
        ("auxiliary.title.timeout", "-1", "a number > 0.0"),
    ],
)
def test_a_number_that_makes_no_sense_is_told_with_its_line_and_the_range(
    tmp_path: Path, key: str, given: str, taken: str
) -> None:
    file, lines = tmp_path / "config.yaml", key.split(".")
    file.write_text(
        "".join(f"{' ' * depth}{name}:\n" for depth, name in enumerate(lines))[:-1] + f" {given}\n"
    )
    with pytest.raises(ConfigError) as told:
        load(file, {})
    assert re.fullmatch(
        rf"config.yaml line {len(lines)}: {key} is {given}: expected {re.escape(taken)}\.", str(told.value)
    )


def test_every_key_has_words() -> None:
    assert [item.key for item in known_keys() if not item.description] == []


@pytest.mark.parametrize("value", ["ends with \\", "a\\'b", "a\\\\b", "C:\\new", "it's"])
def test_a_secret_comes_back_as_it_was_given(tmp_path: Path, value: str) -> None:
    file = tmp_path / ".env"
    set_secret(file, "A_KEY", value)
    set_secret(file, "B_KEY", "other")
    assert with_dotenv({}, file) == {"A_KEY": value, "B_KEY": "other"}


def test_secrets_go_to_a_file_of_their_own_and_come_back(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    set_secret(file, "A_KEY", "plain123")
    set_secret(file, "B_KEY", "odd 'quoted' $value #x")
    set_secret(file, "A_KEY", "second")
    assert with_dotenv({"C": "1"}, file) == {"A_KEY": "second", "B_KEY": "odd 'quoted' $value #x", "C": "1"}
    assert with_dotenv({"A_KEY": "process wins"}, file)["A_KEY"] == "process wins"
    assert file.stat().st_mode & 0o777 == 0o600


def test_homes_and_profiles(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    assert locate(environ).root == tmp_path / ".hermes"
    assert locate({**environ, "HERMES_HOME": str(tmp_path / "x")}).root == tmp_path / "x"
    with pytest.raises(
        ConfigError, match=r"^There is no profile 'work'; there are: default\. hermes profiles "
    ):
        locate(environ, "work")
    assert not (tmp_path / ".hermes").exists()
    made = [make_profile(environ, name) for name in ("work", "play")]
    assert locate(environ, "work").root == made[0].root == tmp_path / ".hermes" / "profiles" / "work"
    assert profiles_of(environ) == ["default", "play", "work"]
    (tmp_path / ".hermes" / "active_profile").write_text("play\n")
    assert (locate(environ).profile, locate(environ, "default").profile) == ("play", "default")
    with pytest.raises(ConfigError, match="is not valid"):
        locate(environ, "../up")
    for taken in ("work", "default"):
        with pytest.raises(ConfigError, match=f"There is a profile '{taken}' already"):
            make_profile(environ, taken)


OWN = """\
providers:
  mine: {base_url: 'http://${HOST}/v1', models: {big: {context_window: 9000, price: {input: 1, output: 2}}}}
custom_providers:
- {name: other, base_url: http://127.0.0.1:2/v1, models: [a, b]}
fallback_providers: [openai/gpt-5, {provider: mine, model: big}]
credential_pool_strategies: {openai: round_robin}
auxiliary: {title: {model: small, timeout: 5}}
budget: {turn_cost: 0.5}
"""


@pytest.mark.parametrize(
    "name",
    [
        "active_profile",
        "config.yaml",
        ".env",
        "SOUL.md",
        "auth.json",
        "trust.json",
        "cache/windows.json",
        "sessions.db",
        "search.db",
        "memories/MEMORY.md",
    ],
)
def test_a_pipe_where_a_file_is_read_is_refused_and_waited_for_by_nobody(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    os.mkfifo(tmp_path / name)
    with pytest.raises(ConfigError) as refused:
        locate({"HERMES_HOME": str(tmp_path)})
    assert (
        str(refused.value) == f"{tmp_path / name} is a pipe, a socket or a device and no file; move it away."
    )


def test_a_link_to_nothing_is_a_file_without_words(tmp_path: Path) -> None:
    (tmp_path / "SOUL.md").symlink_to(os.devnull)
    assert locate({"HERMES_HOME": str(tmp_path)}).root == tmp_path


def test_tables_of_the_users_own_come_out_as_values(path: Path) -> None:
    path.write_text(OWN)
    loaded = load(path, {"HOST": "127.0.0.1:1"})
    found = loaded.settings
    assert loaded.warnings == ()
    assert found[ProviderSettings].providers == {
        "mine": OwnProvider(
            base_url="http://127.0.0.1:1/v1",
            models={"big": OwnModel(context_window=9000, price=PriceSettings(input=1, output=2))},
        )
    }
    assert found[ProviderSettings].custom_providers == [
        OwnProvider(name="other", base_url="http://127.0.0.1:2/v1", models=["a", "b"])
    ]
    assert found[ProviderSettings].fallback_providers == [
        "openai/gpt-5",
        Fallback(provider="mine", model="big"),
    ]
    assert found[ProviderSettings].credential_pool_strategies == {"openai": "round_robin"}
    assert (
        found[AuxiliarySettings].title.model,
        found[AuxiliarySettings].title.timeout,
        found[AuxiliarySettings].compression.timeout,
    ) == ("small", 5.0, 300.0)
    assert (
        found[BudgetSettings].turn_cost,
        found[BudgetSettings].day_cost,
        found[CachingSettings].cache_ttl,
    ) == (0.5, 0.0, "5m")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "providers: {mine: {base_urll: x}}\n",
            "config.yaml line 1: providers is not as it should be: .*base_urll.*mine|providers.*base_urll",
        ),
        (
            "models: {a/b: {price: {input: -1, output: 1}}}\n",
            "models.a/b is not as it should be: price.input",
        ),
        ("credential_pool_strategies: {openai: best}\n", "it takes fill_first, .* or least_used, not 'best'"),
        ("budget: {day_cost: -1}\n", "budget.day_cost is -1"),
    ],
)
def test_a_fault_in_a_table_of_the_users_own_is_told_with_its_place(
    path: Path, text: str, words: str
) -> None:
    path.write_text(text)
    with pytest.raises(ConfigError, match=words):
        load(path, {})


HOOKS = " An example: hooks: {PreToolUse: [{matcher: Bash, hooks: [{type: command, command: ./guard.sh}]}]}."


@pytest.mark.parametrize(
    ("hooks", "fault"),
    [
        (
            "{PreToolUse: {command: x}}",
            "hooks.PreToolUse is not as it should be: expected a list, got a table.",
        ),
        ("{Stop: [{command: x}, x]}", "hooks.Stop[1] is not as it should be: expected a table, got text."),
        (
            "{Stop: [{matcher: x}]}",
            "hooks.Stop[0] is not as it should be: expected either command, or hooks as Claude Code has them.",
        ),
        (
            "{Stop: [{hooks: {command: x}}]}",
            "hooks.Stop[0] is not as it should be: hooks: expected a list, got a table.",
        ),
    ],
)
def test_a_fault_of_hooks_is_told_with_its_place_and_an_example(path: Path, hooks: str, fault: str) -> None:
    path.write_text(f"hooks: {hooks}\n")
    with pytest.raises(ConfigError) as raised:
        load(path, {})
    assert str(raised.value).splitlines()[0] == f"config.yaml line 1: {fault}{HOOKS}"


def test_one_field_of_a_users_provider_is_set_and_checked(path: Path) -> None:
    set_key(path, "providers.mine.base_url", "http://127.0.0.1:1/v1")
    set_key(path, "fallback_providers", "[openai/gpt-5, {provider: mine, model: big}]")
    found = load(path, {}).settings
    assert found[ProviderSettings].providers == {"mine": OwnProvider(base_url="http://127.0.0.1:1/v1")}
    assert found[ProviderSettings].fallback_providers == [
        "openai/gpt-5",
        Fallback(provider="mine", model="big"),
    ]
    with pytest.raises(ConfigError, match="adress"):
        set_key(path, "providers.mine.adress", "x")


def test_one_field_of_a_table_that_needs_several_is_set_with_what_stands_beside_it(path: Path) -> None:
    price = "providers.mine.models.big.price"
    with pytest.raises(ConfigError, match="missing required field `output`"):
        set_key(path, f"{price}.input", "1.5")
    path.write_text("providers: {mine: {models: {big: {price: {output: 6.0, input: 1}}}}}\n")
    set_key(path, f"{price}.input", "1.5")
    set_key(path, "providers.mine.base_url", "http://127.0.0.1:1/v1")
    assert load(path, {}).value_of(price) | {"input": 1.5, "output": 6.0} == load(path, {}).value_of(price)


GUIDES = sorted((Path(__file__).parents[3] / "docs" / "guide").rglob("*.md"))
BLOCKS = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in GUIDES
    for number, block in enumerate(
        re.findall(r"^```yaml\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    )
]


def with_defaults(value: Any, got: Any) -> Any:
    """A value with what stands beside it in another one, at every depth."""
    if isinstance(value, dict) and isinstance(got, dict):
        return {**got, **{name: with_defaults(one, got.get(name)) for name, one in value.items()}}
    if isinstance(value, list) and isinstance(got, list) and len(value) == len(got):
        return [with_defaults(one, other) for one, other in zip(value, got, strict=True)]
    return value


@pytest.mark.parametrize("block", BLOCKS)
def test_the_settings_that_the_guide_shows_are_settings(path: Path, block: str) -> None:
    path.write_text(block)
    assert load(path, {}).warnings == ()


def leaves(tree: object, prefix: str = "") -> Iterator[tuple[str, object]]:
    """The places of a settings file, as deep as their names go."""
    if not isinstance(tree, dict) or not tree:
        yield prefix, tree
        return
    for name, inner in tree.items():
        if "." in name or name == "price":  # a point that is none of the path; a table of required fields
            yield prefix, tree
            return
        yield from leaves(inner, f"{prefix}.{name}".removeprefix("."))


@pytest.mark.parametrize("block", BLOCKS)
def test_each_setting_that_the_guide_shows_can_be_set_and_got(tmp_path: Path, block: str) -> None:
    path = tmp_path / "config.yaml"
    for key, value in leaves(YAML(typ="safe").load(block)):
        if key == "model":
            key = "model.default"  # noqa: PLW2901  # its short form
        set_key(path, key, json.dumps(value))
        got = load(path, {}).value_of(key)
        assert with_defaults(value, got) == got, key


def test_a_place_that_a_mapping_does_not_have_cannot_be_got(path: Path) -> None:
    set_key(path, "providers.mine.base_url", "http://127.0.0.1:1/v1")
    loaded = load(path, {})
    assert loaded.value_of("providers.mine.base_url") == "http://127.0.0.1:1/v1"
    for key in ("providers.yours", "providers.mine.base_url.x", "agent.max_turns.x", "elm"):
        with pytest.raises(ConfigError, match=f"There is no key {key}"):
            loaded.value_of(key)


def test_a_table_in_a_section_that_is_given_in_part_keeps_its_other_defaults(path: Path) -> None:
    path.write_text("tool_loop_guardrails: {hard_stop_after: {exact_failure: 4}}\n")
    found = load(path, {}).settings[GuardrailSettings].hard_stop_after
    assert found == LoopLimits(exact_failure=4, same_tool_failure=8, idempotent_no_progress=5)


def test_variables_of_the_documents_set_their_keys(path: Path) -> None:
    path.write_text("terminal:\n  backend: local\n")
    environ = {"HERMES_API_TIMEOUT": "5", "TERMINAL_DOCKER_IMAGE": "x", "TERMINAL_ENV": "docker"}
    found = load(path, environ | {"TERMINAL_SSH_PORT": "2222"})
    assert (found.settings[ModelSettings].total_timeout, found.values["model.total_timeout"].origin) == (
        5.0,
        "HERMES_API_TIMEOUT",
    )
    terminal = found.settings[TerminalSettings]
    assert (terminal.backend, terminal.docker_image, terminal.ssh_port) == ("docker", "x", 2222)


def test_every_name_of_the_table_leads_to_a_key() -> None:
    known = {item.key for item in known_keys()}
    names = setting_names()
    assert {*names.variables.values(), *names.renamed.values(), *names.also.values()} <= known
    assert not {*names.renamed, *names.also} & known


def test_old_names_of_keys_are_read_with_a_word_and_migrated(path: Path) -> None:
    old = (
        "# mine\nterminal:\n  env_type: ssh  # far away\n  ssh_host: box\ncompression:\n  summary_model: m\n"
    )
    path.write_text(old)
    found = load(path, {})
    assert (
        found.settings[TerminalSettings].backend,
        found.settings[AuxiliarySettings].compression.model,
    ) == ("ssh", "m")
    assert found.warnings == (
        "config.yaml line 3: terminal.env_type is called terminal.backend now; hermes config migrate renames it.",
        (
            "config.yaml line 6: compression.summary_model is called auxiliary.compression.model now; hermes"
            " config migrate renames it."
        ),
    )
    assert edit.migrate(path) == (
        ("terminal.env_type", "terminal.backend"),
        ("compression.summary_model", "auxiliary.compression.model"),
    )
    assert path.read_text().startswith("# mine\n")
    again = load(path, {})
    assert (again.settings, again.warnings) == (found.settings, ())
    assert edit.migrate(path) == ()


def test_save_trajectories_at_the_top_of_the_file_is_another_name_of_trajectories_save(path: Path) -> None:
    path.write_text("save_trajectories: true\n")
    assert load(path, {}).settings[TrajectorySettings].save
    with pytest.raises(ConfigError, match=r"^save_trajectories is called trajectories.save now\.$"):
        set_key(path, "save_trajectories", "true")
    edit.migrate(path)
    assert path.read_text() == "trajectories:\n  save: true\n"


def test_a_second_name_of_a_key_is_read_and_set_without_a_word(path: Path) -> None:
    key, also = "tools.tool_search.enabled", "tools.search"
    for text in ("tools:\n  search: off\n", f"{also}: 'off'\n"):
        path.write_text(text)
        found = load(path, {})
        assert (found.settings[ToolSettings].tool_search.enabled, found.warnings) == ("off", ())
        assert (found.value_of(also), found.value_of(key)) == ("off", "off")
    for text in (
        "tools:\n  search: off\n  tool_search: {enabled: on}\n",
        "tools:\n  tool_search: {enabled: on}\n  search: off\n",
    ):
        path.write_text(text)
        assert load(path, {}).value_of(also) == "on"
    path.unlink()
    assert edit.set_key(path, also, "off") == "off"
    assert path.read_text() == "tools:\n  tool_search:\n    enabled: off\n"
    assert [edit.unset_key(path, also), edit.unset_key(path, also)] == [True, False]
    path.write_text("tools:\n  search: off\n")
    assert (edit.unset_key(path, key), edit.unset_key(path, also)) == (False, True)


def test_a_key_under_both_names_keeps_the_new_one(path: Path) -> None:
    path.write_text("terminal:\n  backend: docker\n  env_type: ssh\n")
    assert load(path, {}).settings[TerminalSettings].backend == "docker"
    edit.migrate(path)
    assert load(path, {}).settings[TerminalSettings].backend == "docker"


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)


@pytest.mark.parametrize("text", [BOMB, "a: " + "[" * 600 + "]" * 600])
def test_what_is_larger_than_settings_are_is_told_at_once(path: Path, text: str) -> None:
    path.write_text(text)
    with pytest.raises(
        ConfigError, match=r"config.yaml is nested more than 40 levels deep, or stands for more"
    ):
        load(path, {})


def test_a_value_that_is_no_yaml_changes_nothing(path: Path) -> None:
    for text in ("[", "[" * 600):
        with pytest.raises(ConfigError, match=r"model.default cannot be '\[+': that is not valid YAML"):
            edit.set_key(path, "model.default", text)
    assert path.read_text() == TEXT


def test_files_of_the_home_that_are_too_long_are_told_and_not_read(tmp_path: Path) -> None:
    told = []
    for name in ("config.yaml", ".env"):
        (tmp_path / name).touch()
        os.truncate(tmp_path / name, 3_000_000_000)
    for read in (lambda: load(tmp_path / "config.yaml", {}), lambda: with_dotenv({}, tmp_path / ".env")):
        with pytest.raises(ConfigError) as error:
            read()
        told.append(str(error.value))
    sentence = "{} cannot be read: it has more than 16,000,000 bytes; mend it or move it away."
    assert told == [sentence.format(tmp_path / name) for name in ("config.yaml", ".env")]
