"""The page: what papers say beside what was measured; names at the ends of curves that do not overlap."""

from __future__ import annotations

from pathlib import Path

import pytest

from semcast_experiments.figures.catalogue import BY_NAME, FIGURES
from semcast_experiments.figures.claims import Claim, judged
from semcast_experiments.figures.dissemination.trial import Cost
from semcast_experiments.figures.lines import above, means, spread
from semcast_experiments.figures.page import write_page, write_result


def _result(out: Path, name: str, quick: bool, claims: list[Claim]) -> dict[str, object]:
    files = [str(out / f"{name}.{suffix}") for suffix in ("csv", "svg", "png")]
    return {"seed": 1, "quick": quick, "note": ["a < b"], "files": files, "claims": [list(claim) for claim in claims]}


def test_figures_made_one_by_one_are_all_on_the_page(tmp_path: Path) -> None:
    said = [
        judged("A < B.", "So.", True, "unused"),
        judged("C.", "Not so.", False, "Because of D."),
        Claim("x", "y", "ours"),
    ]
    write_result(tmp_path, "trees", _result(tmp_path, "trees", False, said), "semcast figures trees")
    write_result(tmp_path, "2005-fig3", _result(tmp_path, "2005-fig3", True, []), "semcast figures 2005-fig3 --quick")
    page = write_page(tmp_path).read_text()
    assert page.index('id="2005-fig3"') < page.index('id="trees"'), "in the catalogue's order"
    assert 'src="trees.svg"' in page
    assert "A &lt; B." in page
    assert "Because of D." in page
    assert "unused" not in page
    assert "Of 2 comparisons with statements of the papers, 1 agree, 0 in part, and 1 differ;" in page
    assert "Made small (--quick): 2005-fig3." in page
    assert "semcast figures 2005-fig3 --quick" in page


def test_every_figure_has_a_maker_of_its_own() -> None:
    from importlib import import_module

    assert len(BY_NAME) == len(FIGURES) == len({figure.maker for figure in FIGURES})
    for figure in FIGURES:
        module, _, function = figure.maker.rpartition(".")
        assert callable(getattr(import_module(f"semcast_experiments.figures.{module}"), function))


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("2005-fig10", ["delay-bounds"]),
        ("topics-fig6", ["topics-fig4"]),
        ("thesis-fig5.12", ["semantic-load"]),
        ("topics-fig1", []),
        ("thesis-fig5.1", []),
    ],
)
def test_figures_are_found_by_the_numbers_of_their_papers(name: str, made: list[str]) -> None:
    assert [figure.name for figure in FIGURES if figure.called(name)] == made


def test_what_a_name_begins_with_is_all_of_a_paper() -> None:
    for name, source in (
        ("2005", "SemCast 2005"),
        ("topics", "Hierarchical"),
        ("thesis", "Semantic"),
        ("ours", "Ours"),
    ):
        found = [figure.name for figure in FIGURES if figure.called(name)]
        assert found == [f.name for f in FIGURES if f.source.startswith(source)]


def test_names_are_pushed_apart_around_where_they_belong() -> None:
    assert spread([0.1, 0.5, 0.9], 0.1) == [0.1, 0.5, 0.9]
    assert spread([0.5, 0.5], 0.2) == pytest.approx([0.4, 0.6])
    assert spread([0.1, 0.5, 0.52, 0.54], 0.1) == pytest.approx([0.1, 0.42, 0.52, 0.62])


def test_a_scheme_is_compared_with_another_on_the_same_case_only() -> None:
    case = ("random", 4.0, 10, 20, 5, "disjoint", 0.0, 1)
    rows = [
        Cost(*case, 1, 0.5, 2.0, "spt", 12.0, 12.0, 1, 2.0, 0.0),
        Cost(*case, 1, 0.5, 2.0, "semcast", 9.0, 15.0, 1, 2.0, 0.0),
        Cost(*case, 2, 0.4, 2.0, "spt", 10.0, 10.0, 1, 2.0, 0.0),
        Cost(*case, 2, 0.4, 2.0, "semcast", 11.0, 16.0, 1, 2.0, 0.0),
        Cost(*case, 3, 0.4, 2.0, "semcast", 1.0, 1.0, 1, 2.0, 0.0),
    ]
    assert sorted(above(rows, "semcast", "spt").values()) == pytest.approx([-25, 10])
    assert sorted(above(rows, "semcast", "spt", leg=True).values()) == pytest.approx([25, 60])
    ((x, value),) = means(above(rows, "semcast", "spt").items(), lambda item: item[0].brokers, lambda item: item[1])
    assert (x, value.value) == (10, pytest.approx(-7.5))
