"""Data that the tests of training share: made once a worker, never written to."""

from __future__ import annotations

import pytest
from short_runs import toy_data

from translucid.data.shards import PreparedData


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> PreparedData:
    return toy_data(tmp_path_factory.mktemp("toy") / "DATA")
