"""The list of models: what stands in it, and how it is chosen from."""

from pathlib import Path

from hermes.apps.tui.model_picker import ModelPicker
from hermes.commands.model import ModelArgs
from hermes.commands.model_choices import known_choices, served_choices
from hermes.config.sections import Settings
from hermes.models.catalog.context_limits import names_in
from hermes.present.spans import columns, plain
from hermes.types.request import Endpoint

OWN = Endpoint(provider="custom", base_url="http://h/v1", model="a", credential="k")


def test_local_models_and_those_of_providers_with_a_key_may_be_chosen_and_no_others(tmp_path: Path) -> None:
    none = [one.name for one in known_choices(Settings(), {}, (), tmp_path)]
    assert none
    assert all(name.startswith("local/") for name in none)
    keyed = known_choices(Settings(), {"ANTHROPIC_API_KEY": "k"}, ("mistral",), tmp_path)
    assert {one.name.split("/")[0] for one in keyed} == {"local", "anthropic", "mistral"}
    assert keyed[0].note.endswith(" MB to fetch")


def test_a_model_of_ones_own_server_keeps_its_address_and_key() -> None:
    (model,) = served_choices(OWN, ["org/b"])
    assert (model.name, model.wish) == ("org/b", ModelArgs(model="org/b", base_url="http://h/v1", key="k"))


def test_names_are_read_from_each_form_of_a_list() -> None:
    assert [
        names_in(tree)
        for tree in (
            {"data": [{"id": "a"}, {"id": "a"}]},
            {"models": [{"name": "models/b"}]},
            [{"id": "c"}],
            None,
            {"data": 3},
        )
    ] == [("a",), ("b",), ("c",), (), ()]


def test_what_the_server_tells_comes_first_and_the_choice_stays(tmp_path: Path) -> None:
    picker = ModelPicker(now="a", models=known_choices(Settings(), {}, (), tmp_path), asking=True)
    assert "asking the server" in plain(picker.lines("", 80, 20)[0])
    picker.move(1, "")
    before = picker.choice("")
    picker.put_first(served_choices(OWN, ["a", "b"]), "")
    assert (picker.choice(""), picker.models[0].name) == (before, "a")
    assert next(one.name for one in picker.matching("b")) == "b"
    assert picker.choice("no such model") is None
    for width in (24, 40, 80):
        assert all(columns(row) <= width for row in picker.lines("", width, 20))
