from pathlib import Path

import pytest

from hermes.config.sections import Settings
from hermes.models.client import client_for
from hermes.models.settings import NetworkSettings, OwnProvider, ProviderSettings
from hermes.types.error import ConfigError


@pytest.mark.parametrize(
    "settings",
    [
        Settings((NetworkSettings(ca_cert="/no/such.pem"),)),
        Settings((ProviderSettings(providers={"openai": OwnProvider(ca_cert="/no/such.pem")}),)),
        Settings(
            (
                ProviderSettings(
                    custom_providers=[
                        OwnProvider(name="mine", base_url="https://127.0.0.1:1/v1", ca_cert="/no/such.pem")
                    ]
                ),
            )
        ),
    ],
)
def test_a_certificate_that_is_not_there_is_a_fault_of_the_settings(settings: Settings) -> None:
    with pytest.raises(ConfigError, match=r"/no/such\.pem is not a file of certificates"):
        client_for(settings, {})


@pytest.mark.anyio
async def test_settings_that_say_nothing_give_a_client(tmp_path: Path) -> None:
    async with client_for(Settings(), {}) as http:
        assert not http.trust_env
