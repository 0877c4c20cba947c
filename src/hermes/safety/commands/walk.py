"""Walk the tree of a command line in source order, keeping what is known of variables and directories."""

import re
from collections.abc import Sequence
from dataclasses import replace  # noqa: TID251  # commands and findings are no structs
from typing import TYPE_CHECKING, Final

from hermes.safety.commands.expansion import (
    UNKNOWN,
    VariableScope,
    document_text,
    expand,
    is_bare,
    looked_at,
    substituted,
    text_of,
    value,
)
from hermes.safety.commands.grammar import is_endless, nodes, parse
from hermes.safety.commands.script import ShellScript, Simple
from hermes.types.error import BeyondReading

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_COMMANDS: Final = 2_000
_DEEPEST: Final = 150
_EVALUATING: Final = ("arithmetic_expansion", "expansion", "subscript")
_QUOTED: Final = ("raw_string", "string", "word")
_ARITHMETIC: Final = frozenset({"test_command", "c_style_for_statement", "compound_statement"})
_DECLARES: Final = frozenset({"export", "declare", "typeset", "readonly", "local"})
_SUBSHELLS: Final = frozenset({"subshell", "command_substitution", "process_substitution"})
_BRANCHES: Final = frozenset(
    {"if_statement", "while_statement", "case_statement", "list", "c_style_for_statement", "elif_clause"}
    | {"else_clause"}
)


class Walk:
    """Walks a tree in source order; `scope` is what is known where it stands."""

    def __init__(self, script: ShellScript, scope: VariableScope) -> None:
        self._script = script
        self.scope = scope
        self._calling: list[str] = []
        self._evaluated: list[str] = []
        self._counts = False
        self._piped: str | None = None

    def visit(self, node: "Node", depth: int) -> list[Simple]:
        """Add the commands below a node to the script and give those whose output is the node's."""
        if depth > _DEEPEST or len(self._script.commands) > MOST_COMMANDS:
            raise BeyondReading("it is nested too deep or has too many commands")
        if node.type in _ARITHMETIC and not text_of(node).startswith("{"):
            self._evaluate([node], depth)
        if node.type in _SUBSHELLS:
            return self._apart(node, depth)
        if node.type in _BRANCHES:
            return self._branch(node, depth)
        visit = getattr(self, f"_{node.type}", None)
        result: list[Simple] = visit(node, depth) if visit is not None else self._children(node, depth)
        return result

    def _evaluate(self, inside: Sequence["Node"], depth: int) -> None:
        """Visit what bash runs where it takes words for expressions: the names in them stand for texts, and
        what is substituted in those it runs, quoted or not.
        """
        words = [one for node in inside for kind in _QUOTED for one in nodes(node, kind)]
        texts = [*(value(one, self.scope) for one in words), *self.scope.texts()]
        for text in substituted(texts):
            if text not in self._evaluated:
                self._evaluated.append(text)
                self.visit(parse(text), depth + 1)
                self._evaluated.pop()

    def _children(self, node: "Node", depth: int) -> list[Simple]:
        return [command for child in node.named_children for command in self.visit(child, depth + 1)]

    def _apart(self, node: "Node", depth: int) -> list[Simple]:
        outer, self.scope = self.scope, self.scope.copy()
        start = len(self._script.commands)
        commands = self._children(node, depth)
        self.scope = outer
        if node.type == "process_substitution" and text_of(node).startswith(">"):
            self._feed(start, (Simple(argv=(UNKNOWN,), cwd=self.scope.cwd),))
        return commands

    def _branch(self, node: "Node", depth: int) -> list[Simple]:
        """Something that may or may not run: what it assigns is not known afterwards."""
        before = dict(self.scope.variables)
        if is_endless(node):
            self._script.loops.append(text_of(node))
        commands = self._children(node, depth)
        for name, now in self.scope.variables.items():
            if before.get(name, now) != now:
                self.scope.variables[name] = UNKNOWN
        return commands

    def _comment(self, _node: "Node", _depth: int) -> list[Simple]:
        return []

    def _pipeline(self, node: "Node", depth: int) -> list[Simple]:
        upstream: list[Simple] = []
        outer = self._piped
        for child in node.named_children:
            start = len(self._script.commands)
            self._piped = upstream[0].output if len(upstream) == 1 else None
            stage = self.visit(child, depth + 1)
            self._feed(start, tuple(upstream))
            upstream = self._script.commands[start:] or stage
        self._piped = outer
        return upstream

    def _feed(self, start: int, sources: tuple[Simple, ...]) -> None:
        """Say of the commands from `start` on that they read what `sources` write."""
        if sources:
            commands = self._script.commands
            commands[start:] = [
                one if one.sources or one.text is not None else replace(one, sources=sources)
                for one in commands[start:]
            ]

    def _redirected_statement(self, node: "Node", depth: int) -> list[Simple]:
        start = len(self._script.commands)
        body = node.child_by_field_name("body")
        own = self.visit(body, depth + 1) if body is not None else []
        rest = [child for child in node.named_children if child != body]
        after: list[Simple] = []
        for child in rest:
            after += self._redirection(child, start, depth)
        return after or self._script.commands[start:] or own

    def _redirection(self, node: "Node", start: int, depth: int) -> list[Simple]:
        """Note where a redirection leads; gives the commands that follow a here-document's mark on its
        line.
        """
        if node.type == "file_redirect":
            self._file(node, start, depth)
            return []
        if node.type in {"heredoc_redirect", "herestring_redirect"}:
            return self._document(node, start, depth)
        return self.visit(node, depth + 1)

    def _file(self, node: "Node", start: int, depth: int) -> None:
        place = len(self._script.commands) - 1
        targets = node.children_by_field_name("destination")
        inner = tuple(command for target in targets for command in self._substitutions(target, depth))
        operator = next((child.type for child in node.children if not child.is_named), "")
        if operator in {">&-", "<&-"}:  # what closes a descriptor leads nowhere
            path, words = "-", targets
        else:
            path, words = (value(targets[0], self.scope), targets[1:]) if targets else ("-", [])
        leads = not (operator[:2] in {">&", "<&"} and (path.isdigit() or path == "-"))
        entry = Simple(
            argv=tuple(
                word for one in words for word in expand(one, self.scope)
            ),  # the grammar takes them for targets, too
            cwd=self.scope.cwd,
            line=text_of(node),
            writes=(path,) if leads and ">" in operator else (),
            reads=(path,) if leads and "<" in operator else (),
            sources=inner if "<" in operator or words else (),
        )
        if place >= start:
            self._extend(place, entry)
        elif leads or entry.argv:
            self._script.commands.append(replace(entry, scope=self.scope.copy()))

    def _extend(self, place: int, more: Simple) -> None:
        """Add files and words from behind a redirection to the command at a place."""
        last = self._script.commands[place]
        joined = replace(
            last, argv=last.argv + more.argv, writes=last.writes + more.writes, reads=last.reads + more.reads
        )
        joined = replace(joined, sources=(*last.sources, *more.sources)) if more.sources else joined
        if more.argv:
            joined = replace(joined, line=f"{last.line} {more.line}")
            self.scope.cwd = last.cwd
            self.scope.take_over(joined.argv)
        self._script.commands[place] = joined

    def _document(self, node: "Node", start: int, depth: int) -> list[Simple]:
        """Give a here-document's or here-string's text to the commands before it, and the words behind its
        mark to the last.
        """
        words = tuple(
            word for one in node.children_by_field_name("argument") for word in expand(one, self.scope)
        )
        if words and len(self._script.commands) > start:
            self._extend(len(self._script.commands) - 1, Simple(argv=words, cwd=self.scope.cwd))
        if node.type == "herestring_redirect":
            text = "".join(value(child, self.scope) for child in node.named_children)
            followers = [child for child in node.named_children if child.type == "command_substitution"]
        else:
            bodies = [child for child in node.named_children if child.type == "heredoc_body"]
            text = "".join(document_text(body, self.scope) for body in bodies)
            followers = [
                child
                for child in node.named_children
                if child.type not in {"heredoc_start", "heredoc_body", "heredoc_end"}
            ]
            for body in bodies:
                self._substitutions(body, depth)
        commands = self._script.commands
        commands[start:] = [replace(command, text=text) for command in commands[start:]]
        upstream = tuple(commands[start:])
        after: list[Simple] = []
        for child in followers:
            begin = len(commands)
            after += (
                self._redirection(child, start, depth)
                if child.type.endswith("_redirect")
                else self.visit(child, depth + 1)
            )
            self._feed(begin, upstream)
        return after

    def _file_redirect(self, node: "Node", depth: int) -> list[Simple]:
        """A redirection without a command, as in `$(< file)`."""
        self._file(node, len(self._script.commands), depth)
        return []

    def _function_definition(self, node: "Node", depth: int) -> list[Simple]:
        name = text_of(node.children[1] if node.children[0].type == "function" else node.children[0])
        body = node.child_by_field_name("body")
        start = len(self._script.commands)
        if body is not None:
            self._apart(body, depth)
        inside = self._script.commands[start:]
        if (
            any(command.argv[:1] == (name,) for command in inside)
            and body is not None
            and ("|" in text_of(body) or "&" in text_of(body))
        ):
            self._script.bombs.append(name)
        if body is not None:
            self.scope.functions[name] = body
        return []

    def _called(self, words: Sequence[str], depth: int) -> None:
        """Visit the body of a function with the words of a call; a call inside itself adds nothing."""
        body = self.scope.functions.get(words[0]) if words else None
        if body is None or words[0] in self._calling:
            return
        self._calling.append(words[0])
        outer = self.scope.arrays.get("@")
        self.scope.arrays["@"] = list(words[1:])
        self.visit(body, depth + 1)
        self.scope.arrays = {name: one for name, one in self.scope.arrays.items() if name != "@"} | (
            {"@": outer} if outer is not None else {}
        )
        self._calling.pop()

    def _for_statement(self, node: "Node", depth: int) -> list[Simple]:
        name = text_of(node.named_children[0])
        items = [word for child in node.named_children[1:-1] for word in expand(child, self.scope)]
        for child in node.named_children[1:-1]:
            self._substitutions(child, depth)
        self.scope.made[name] = " ".join(text_of(child) for child in node.named_children[1:-1])
        commands: list[Simple] = []
        for item in looked_at(items):
            self.scope.variables[name] = item
            commands += self.visit(node.named_children[-1], depth + 1)
        self.scope.variables[name] = UNKNOWN
        return commands

    def _variable_assignment(self, node: "Node", depth: int) -> list[Simple]:
        name, text = self._assign(node, depth)
        self._script.commands.append(
            Simple(
                argv=(),
                cwd=self.scope.cwd,
                line=text_of(node),
                assignments=((name, text),),
                scope=self.scope.copy(),
            )
        )
        return []

    def _assign(self, node: "Node", depth: int) -> tuple[str, str]:
        target, content = node.child_by_field_name("name"), node.child_by_field_name("value")
        name = text_of(target) if target is not None else ""
        if content is not None and content.type == "array":
            self.scope.arrays[name] = [
                word for child in content.named_children for word in expand(child, self.scope)
            ]
            self.scope.variables[name] = self.scope.arrays[name][0] if self.scope.arrays[name] else ""
        else:
            self.scope.variables[name] = value(content, self.scope) if content is not None else ""
            if any(child.type == "+=" for child in node.children):
                self.scope.variables[name] = UNKNOWN
        if target is not None and target.type == "subscript":
            self._substitutions(target, depth)
        if self._counts:
            self._evaluate([node], depth)
        if content is not None:
            self._substitutions(content, depth)
            self.scope.made[name] = text_of(content)
        return name, self.scope.variables[name]

    def _declaration_command(self, node: "Node", depth: int) -> list[Simple]:
        assignments = tuple(
            self._assign(child, depth) for child in node.named_children if child.type == "variable_assignment"
        )
        words = tuple(
            word
            for child in node.named_children
            if child.type != "variable_assignment"
            for word in expand(child, self.scope)
        )
        assignments += _declared(words)
        self._counts = self._counts or any(re.fullmatch(r"-[a-zA-Z]*i[a-zA-Z]*", word) for word in words)
        if any(
            re.fullmatch(r"-[a-zA-Z]*n[a-zA-Z]*", word) for word in words
        ):  # another name for a variable, which may change later
            self.scope.variables |= {name: UNKNOWN for name, _ in assignments}
        self._script.commands.append(
            Simple(
                argv=(text_of(node.children[0]), *words),
                cwd=self.scope.cwd,
                line=text_of(node),
                assignments=assignments,
                scope=self.scope.copy(),
            )
        )
        return []

    _unset_command = _declaration_command

    def _command(self, node: "Node", depth: int) -> list[Simple]:
        outer = dict(self.scope.variables)
        assignments = tuple(
            self._assign(child, depth) for child in node.named_children if child.type == "variable_assignment"
        )
        self.scope.variables = outer  # it does not see them in its own words
        words: list[str] = []
        redirects: list[Node] = []
        for child in node.named_children:
            if child.type == "variable_assignment":
                continue
            if child.type.endswith("_redirect"):
                redirects.append(child)
                continue
            words += [
                word
                for part in (child.named_children if child.type == "command_name" else [child])
                for word in expand(part, self.scope)
            ]
            self._substitutions(child, depth)
        if words and words[0] in _DECLARES:
            assignments += _declared(words[1:])
        if words and (meant := self.scope.aliases.get(words[0], "")).replace(" ", "").isalnum():
            self._script.commands.append(
                Simple(argv=(*meant.split(), *words[1:]), cwd=self.scope.cwd, line=text_of(node))
            )
        self._called(words, depth)
        start = len(self._script.commands)
        command = Simple(
            argv=tuple(words),
            cwd=self.scope.cwd,
            line=text_of(node),
            assignments=assignments,
            scope=self.scope.copy(),
        )
        inner = [
            one
            for child in node.named_children
            if child.type == "process_substitution"
            for one in self._apart(child, depth)
        ]
        self._script.commands.append(replace(command, sources=tuple(inner)) if inner else command)
        for redirect in redirects:
            self._redirection(redirect, start, depth)
        self.scope.take_over(command.argv)
        self._read_line(command.argv)
        return [self._script.commands[-1]]

    def _read_line(self, words: Sequence[str]) -> None:
        """What `read` takes from a pipe that gives one line."""
        names = [word for word in words[1:] if word.isidentifier()]
        if words[:1] == ("read",) and len(names) == 1 and self._piped and self._piped.count("\n") == 1:
            self.scope.variables[names[0]] = self._piped.rstrip("\n")

    def _substitutions(self, node: "Node", depth: int) -> list[Simple]:
        """Visit the commands inside the words of a node; gives those whose output a file of it would be."""
        for inner in nodes(node, "command_substitution"):
            self._apart(inner, depth)
        if inside := [one for kind in _EVALUATING for one in nodes(node, kind) if not is_bare(one)]:
            self._evaluate(inside, depth)
        return self._apart(node, depth) if node.type == "process_substitution" else []


def _declared(words: Sequence[str]) -> tuple[tuple[str, str], ...]:
    return tuple((name, text) for name, is_set, text in (word.partition("=") for word in words) if is_set)
