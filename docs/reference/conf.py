# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The reference, made by Sphinx of docstrings and the public header: ``make reference``."""

import importlib.metadata
import warnings

import click
from docutils import nodes
from docutils.parsers.rst import Directive
from executorch.backends.et_xnnpack.aot.cli.main import cli

warnings.filterwarnings("ignore")  # of the libraries that are imported

project = "et_xnnpack"
author = "et_xnnpack authors"
copyright = "et_xnnpack authors, BSD-3-Clause"
version = release = importlib.metadata.version("et_xnnpack")
extensions = ["sphinx.ext.autodoc"]
autodoc_default_options = {"member-order": "bysource"}
toc_object_entries_show_parents = "hide"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
add_module_names = False
html_theme = "alabaster"
html_theme_options = {
    "description": "The CPU delegate for ExecuTorch that takes the whole model",
    "page_width": "1100px",
}
html_show_sourcelink = False


class CommandHelp(Directive):
    """The help of the command and of each of its commands, as a terminal shows it."""

    def run(self) -> list[nodes.Node]:
        found = [self._section("et-xnnpack", cli)]
        return found + [self._section(f"et-xnnpack {name}", command) for name, command in cli.commands.items()]

    def _section(self, name: str, command: click.Command) -> nodes.section:
        text = command.get_help(click.Context(command, info_name=name, max_content_width=100, terminal_width=100))
        section = nodes.section("", nodes.title(name, name), nodes.literal_block(text, text, language="none"))
        section["ids"].append(nodes.make_id(name))
        return section


def setup(app) -> None:
    app.add_directive("command-help", CommandHelp)
