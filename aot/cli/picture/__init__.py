# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Pictures of a model or a program, as one HTML page that needs nothing else.

``model.py`` says what a picture shows, ``explained.py`` and ``planned.py`` make pictures of what the commands found, and
``page.py`` writes the page. The files in ``parts/`` are what it is made of; what is drawn is laid out in the browser by dagre, which
is inlined from netron's package.
"""
