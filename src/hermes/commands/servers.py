"""The command on MCP servers: what they offer, asked anew."""

from hermes.commands.context import CommandContext, opened


async def reload_mcp(talk: CommandContext, argument: str) -> None:
    """Read the settings of servers anew and ask each what it offers, or accept what one offers now."""
    servers = opened(talk).services.servers
    if argument:
        servers.accept(argument)
        talk.notice(f"What {argument} offers now is accepted; /new begins a session that has it.")
        return
    talk.notice("Asking the MCP servers what they offer …")
    talk.tell("\n\n".join(await servers.reload()) or "There is no MCP server; `hermes mcp add` adds one.")
