"""Write the types of the page: `web/openapi.json` and `web/src/api/schema.ts`.

    python tools/page_types.py        # or `make page-types`; needs Node and its registry

The first file is what the server's OpenAPI document says of bodies and answers, without words; the
second is made of it by openapi-typescript. Both are committed. `tests/serving/test_page_types.py`
holds the first equal to the server and the second to the first.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

WEB = Path(__file__).parents[1] / "web"
DOCUMENT = WEB / "openapi.json"
SCHEMA = WEB / "src" / "api" / "schema.ts"
# openapi-typescript needs the compiler's API of TypeScript 5; the page itself is checked by 7.
PACKAGES = ("openapi-typescript@7.13.0", "typescript@5.9.3")
_WORDS = ("description", "title", "examples", "summary")


def page_document(openapi: Mapping[str, Any]) -> str:
    """Return the schemas of an OpenAPI document as JSON, without words."""
    found = openapi["components"]["schemas"]
    content = {
        "openapi": "3.1.0",
        "info": {"title": "Translucid", "version": "1"},
        "paths": {},
        "components": {"schemas": {name: _bare(found[name]) for name in sorted(found)}},
    }
    return json.dumps(content, indent=1, sort_keys=True) + "\n"


def _bare(part: Any) -> Any:
    """Return a schema without words; `title` may also be the name of a property."""
    if isinstance(part, list):
        return [_bare(one) for one in part]
    if not isinstance(part, dict):
        return part
    return {
        name: {key: _bare(one) for key, one in value.items()}
        if name == "properties"
        else _bare(value)
        for name, value in part.items()
        if name not in _WORDS
    }


def header(document: str) -> str:
    """Return the first line of the types that belong to a document."""
    digest = hashlib.sha256(document.encode()).hexdigest()[:16]
    return f"// Made by tools/page_types.py of web/openapi.json ({digest}). Do not edit.\n"


def main() -> None:
    """Write both files."""
    from translucid.built_in import DEFAULT
    from translucid.serving.app import create_app
    from translucid.serving.config import ServingConfig
    from translucid.serving.runs import Runs
    from translucid.serving.served_models import ServedModels

    app = create_app(ServedModels.load([DEFAULT]), ServingConfig(), Runs())
    document = page_document(app.openapi())
    DOCUMENT.write_text(document, encoding="utf-8")
    packages = [word for package in PACKAGES for word in ("--package", package)]
    command = ["npx", "--yes", *packages, "openapi-typescript", DOCUMENT.name, "-o", str(SCHEMA)]
    subprocess.run(command, cwd=WEB, check=True)
    SCHEMA.write_text(header(document) + SCHEMA.read_text(encoding="utf-8"), encoding="utf-8")


if __name__ == "__main__":
    main()
