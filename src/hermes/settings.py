"""The settings of a runtime: importing this registers the sections of every package below.

Screens register theirs with the apps, which know that there is a screen.
"""

import hermes.agent.capabilities
import hermes.agent.code_execution.settings
import hermes.agent.compaction.settings
import hermes.agent.guardrails
import hermes.agent.memory
import hermes.agent.prompt.settings
import hermes.agent.settings
import hermes.environments.settings
import hermes.mcp.settings
import hermes.models.settings
import hermes.plugins.settings
import hermes.safety.settings
import hermes.skills.settings
import hermes.tools.settings  # noqa: F401  # each registers its sections
