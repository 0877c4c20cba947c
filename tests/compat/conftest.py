from tests.scenarios.planted_plugins import plant

__all__ = ["plant"]
