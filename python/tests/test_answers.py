"""One answer of a result, results as long tables, and as notebooks show them."""

from __future__ import annotations

import html.parser
import warnings

import numpy as np
import pytest

import thresher
from conftest import best

NAMES = [f"<b>n{j}</b>" for j in range(1500)]


@pytest.fixture(scope="module")
def results(vectors, queries):
    """A result with padding, ids and ids of queries, and all vectors that reach its third scores."""
    with thresher.Index(vectors, NAMES, metric="cosine") as index:
        asked = {"method": "exact", "query_ids": np.arange(30) + 100}
        found = index.search(queries, [1, 2, 7] * 10, **asked)
        return found, index.range_search(queries, np.nanmin(found.scores64[:, :2], axis=1), **asked)


def test_the_answer_to_a_query(results):
    found, ranged = results
    assert len(found) == len(ranged) == 30
    for result, counts in ((found, found.counts), (ranged, ranged.counts)):
        answers = list(result.answers())
        assert [a.query for a in answers] == list(range(30)) and [a.query_id for a in answers] == list(range(100, 130))
        assert [len(a) for a in answers] == counts.tolist()
        for j, answer in enumerate(answers):
            ids = found.ids[j, : counts[j]] if result is found else ranged.ids[ranged.lims[j] : ranged.lims[j + 1]]
            assert answer.ids.tolist() == ids.tolist() == [NAMES[row] for row in answer.rows]
            assert (answer.scores == answer.scores64.astype(np.float32)).all()
            assert answer.certificate == result.certificate(j) and answer.guarantee == "exact"
            assert answer.complete is True and answer.delta == 0
        scores, ids = result[-1]
        assert ids.tolist() == answers[29].ids.tolist() and scores.tolist() == answers[29].scores.tolist()
        assert result[np.int64(4)].query == 4
    assert found[2].ids.tolist() == found.ids[2].tolist() and len(found[2]) == 7


def test_answers_that_are_not_there(results):
    for result in results:
        for wrong in (30, -31):
            with pytest.raises(IndexError, match=rf"result\[{wrong}\]: there are 30 queries"):
                result[wrong]
        for wrong in (slice(2), "a", 1.0, None):
            with pytest.raises(TypeError, match="the number of a query is wanted"):
                result[wrong]


def test_long_tables(results, vectors, queries):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for result in results:
        frame = result.to_pandas()
        assert frame.columns.tolist() == [
            *("query", "query_id", "rank", "id", "row", "score", "score64", "guarantee", "delta", "complete")
        ]
        assert len(frame) == result.counts.sum()
        for answer in result.answers():
            part = frame[frame["query"] == answer.query]
            assert part["rank"].tolist() == list(range(1, len(answer) + 1))
            for name, want in (("id", answer.ids), ("row", answer.rows), ("score64", answer.scores64)):
                assert part[name].tolist() == want.tolist()
            assert set(part["query_id"]) == {answer.query_id}
        other = result.to_polars()
        assert other.columns == frame.columns.tolist()
        assert other["id"].dtype == pl.String and other["score"].dtype == pl.Float32
        assert other.to_dict(as_series=False) == {name: frame[name].tolist() for name in frame}
    with thresher.Index(vectors, metric="ip") as index:
        frame = index.search(queries, 2).to_pandas()
        assert "row" not in frame and "query_id" not in frame and frame["id"].dtype == np.int64
        none = index.search(queries[:0], 2).to_pandas()
        assert len(none) == 0 and none.columns.tolist() == frame.columns.tolist()
    assert isinstance(frame, pd.DataFrame)


def test_duckdb_reads_tables(results):
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    table = results[0].to_arrow()
    with duckdb.connect() as connection:
        connection.register("answers", table)
        rows = connection.sql("SELECT query_id, len(ids) FROM answers ORDER BY query").fetchall()
    assert rows == [(100 + j, int(c)) for j, c in enumerate(results[0].counts)]


def test_vectors_of_duckdb_and_polars(vectors, queries):
    """Columns that they give by Arrow are rows, and what is found goes back."""
    duckdb, pl = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")
    rows = pa.table({"id": NAMES, "v": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 48)})
    right = [[NAMES[row] for row in line] for line in best(queries, vectors, 3)[0]]
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        table = connection.sql("SELECT id, v FROM rows").to_arrow_table()
        with thresher.Index(table["v"], table["id"], metric="ip") as index:
            found = index.search(queries, 3, method="exact").to_arrow()
        connection.register("found", found)
        best_of = connection.sql("SELECT ids FROM found ORDER BY query").fetchall()
    assert [ids for (ids,) in best_of] == right
    frame = pl.from_arrow(rows)
    with thresher.Index(frame["v"], frame["id"], metric="ip") as index:
        found = index.search(queries, 3, method="exact").to_polars()
    assert found.group_by("query", maintain_order=True).agg("id")["id"].to_list() == right


class Page(html.parser.HTMLParser):
    """The tags that are open, and the texts of cells."""

    def __init__(self):
        super().__init__()
        self.open, self.cells, self.text = [], [], ""

    def handle_starttag(self, tag, attrs):
        assert tag in ("div", "p", "table", "thead", "tbody", "tr", "th", "td", "span", "br", "wbr")
        if tag in ("td", "th"):
            self.cells.append("")
        if tag not in ("br", "wbr"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
        if "td" in self.open or "th" in self.open:
            self.cells[-1] += data


def shown(result):
    page = Page()
    page.feed(result._repr_html_())
    page.close()
    assert page.open == []
    return page


def test_notebooks_can_break_long_ids():
    ids = ["package/long.Name908.Function", "a<b>&" + "x" * 30]
    with thresher.Index(np.eye(2, dtype=np.float32), ids, metric="ip") as index:
        found = index.search([[1, 0.5]], 2)
        assert shown(found).cells[-2:] == [f"{ids[0]}1", f"{ids[1]}0.5"]
        assert "package/<wbr>long.<wbr>Name908.<wbr>Function<br>" in found._repr_html_()
        assert f"a&lt;<wbr>b&gt;&amp;<wbr>{'x' * 12}<wbr>{'x' * 12}<wbr>{'x' * 6}<br>" in found._repr_html_()


def test_notebooks_show_a_table(results):
    found, ranged = results
    page = shown(found)
    assert page.cells[:6] == ["query", "1st", "2nd", "3rd", "4th", "5th"]
    assert page.cells[6] == "100" and page.cells[7] == f"{found.ids[0, 0]}{found.scores[0, 0]:.6g}"
    assert page.cells[8:12] == [""] * 4 and page.cells[23].endswith("and 2 more")
    assert "30 queries, 7 best each, cosine. All 30 answers are exact: none is wrong." in page.text
    assert page.text.endswith("and 25 more queries") and "<b>" not in found._repr_html_()
    assert shown(ranged).cells[0] == "query" and "vectors in all" in shown(ranged).text
    assert repr(found) == "<thresher.Result: 30 queries, 7 best each, cosine. All 30 answers are exact: none is wrong.>"
    assert repr(found[1]).startswith("<thresher.Answer to query 1, 101, exact: <b>n")


def test_what_certificates_say_in_a_sentence(vectors, queries):
    rng = np.random.default_rng(5)
    wide = rng.standard_normal((3000, 256)).astype(np.float32)
    with thresher.Index(wide, metric="ip") as index:
        some = index.search(wide[:3], 2, method="adaptive", delta=0.03, plan="64,rescore")
        assert "All 3 answers are right but for a probability of at most 0.03 each." in repr(some)
        one = index.search(wide[0], 2, method="adaptive", delta=0.03, plan="64,rescore")
        assert "The answer is right but for a probability of at most 0.03." in repr(one)
        assert "Both answers are exact" in repr(index.search(wide[:2], 2, method="exact"))
        none = index.search(wide[:0], 2)
        assert "There were no queries." in repr(none) and "table" not in none._repr_html_()
    with thresher.Index(vectors, metric="ip") as index, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        late = index.search(np.tile(queries, (400, 1)), 3, method="exact", deadline=1e-9)
        assert not late.complete.all()
        stopped = int((~late.complete).sum())
        assert f"{stopped:,} answers were stopped early and hold the best so far, with a bound" in repr(late)
        empty = thresher.Index(vectors[:0], metric="ip").search(queries[:1], 3)
        assert "The answer is exact: it is not wrong." in repr(empty) and shown(empty).cells == ["query", "0"]
