"""Builds these pages into a site (`make site`); nothing of it is loaded from elsewhere."""

project = "Sinkrank"
extensions = ["myst_parser"]
myst_heading_anchors = 4
html_theme = "furo"
html_title = "Sinkrank"
html_static_path: list[str] = []
html_show_sphinx = False
html_copy_source = False
# A page that is in no table of contents, or a link to a heading that is not there, fails the build (`-W`).
nitpicky = True
