# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Pictures of a model or a program, as one HTML page that needs nothing else.

``model.py`` says what a picture shows, ``explained.py`` and ``planned.py`` make pictures of what the commands found,
``page.py`` writes the page out of ``parts/``. In the browser dagre lays out what is drawn; netron's package has it.
"""
