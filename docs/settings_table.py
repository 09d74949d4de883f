"""Writes the tables of docs/settings.md from the declarations: `python -m docs.settings_table`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from reranker.service.settings import Settings, allowed_values, value_types

PAGE = Path(__file__).parent / "settings.md"
# The first setting of each table.
HEADINGS = {
    "home": "What to open",
    "store_username": "Access to the engine",
    "host": "Server",
    "log_format": "Logs",
    "first_stage": "Search",
    "max_body_bytes": "Limits of requests",
    "proxy_mode": "Proxy",
}
_END = "\n## Secrets\n"


def tables() -> str:
    """A table for each group, with a row for each setting."""
    lines: list[str] = []
    for name, field in Settings.model_fields.items():
        if name in HEADINGS:
            lines += [
                "",
                f"## {HEADINGS[name]}",
                "",
                "| setting | default | values | description |",
                "|---|---|---|---|",
            ]
        lines.append(f"| `{name}` | {_default(field.default)} | {_choices(field)} | {_description(field)} |")
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    """The page with its tables made anew; the text before and after them stays."""
    first = next(iter(HEADINGS.values()))
    before, _, rest = text.partition(f"\n## {first}\n")
    return f"{before}{tables()}{_END}{rest.partition(_END)[2]}"


def _default(value: Any) -> str:
    if value is None or value == ():
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _choices(field: FieldInfo) -> str:
    if bool in value_types(field):
        return "`true`, `false`"
    return allowed_values(field)


def _description(field: FieldInfo) -> str:
    extra = field.json_schema_extra
    link = extra.get("see") if isinstance(extra, dict) else None
    return f"{field.description}: see [{str(link).partition('.')[0]}]({link})" if link else str(field.description)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
