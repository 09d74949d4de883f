"""What each engine's home is made of: which jar goes into which folder, and how Java is called.

A recipe is data only. The jars themselves are named in the `pom.xml` of the recipe's folder.
To add plugin zips (security, say) write a pom profile and a recipe of its own, as `OPENSEARCH_2_ML` is, and start it by
name with `start_node`; only what stands in `RECIPES` is known, only `TESTED` is an `engine`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

HERE = Path(__file__).resolve().parent

LAYOUT_VERSION = 1
"""Raise it when `assemble.py` lays a home out differently, so that cached homes are built anew."""


@dataclass(frozen=True)
class Module:
    """A folder under `modules/`: its plugin class, and the file patterns of its jars or the folder of its sources."""

    name: str
    class_name: str
    jars: tuple[str, ...] = ()
    extends: str = ""
    sources: str = ""


@dataclass(frozen=True)
class Plugin:
    """A folder under `plugins/`: one published zip, and what has to be mended in it.

    `extra_jars` are patterns of jars that are moved in from `lib/`; `sources` is a folder of Java sources
    that are compiled into a jar there; `descriptor` overrides lines of `plugin-descriptor.properties`.
    """

    name: str
    zip: str
    extra_jars: tuple[str, ...] = ()
    sources: str = ""
    descriptor: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Recipe:
    """One engine: `name` is `distribution-version[-variant]`; `folder` holds its pom."""

    name: str
    folder: str
    distribution: str
    version: str
    image: str
    min_java: int
    launcher: str
    modules: tuple[Module, ...]
    plugins: tuple[Plugin, ...] = ()
    dropped_jars: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    java_options: tuple[str, ...] = ()
    on_module_path: bool = False

    @property
    def pom(self) -> Path:
        return HERE / self.folder / "pom.xml"

    @property
    def settings_file(self) -> str:
        return f"{self.distribution}.yml"


_PAINLESS_JARS = ("lang-painless-*", "asm-*", "antlr4-runtime-*", "opensearch-scripting-painless-spi-*")
_REINDEX_JARS = (
    "reindex-client-*",
    "opensearch-rest-client-*",
    "opensearch-ssl-config-*",
    "httpclient*",
    "httpcore*",
    "httpasyncclient-*",
    "commons-codec-*",
    "commons-logging-*",
)


def _opensearch_modules(suffix: str) -> tuple[Module, ...]:
    """The five modules of a light OpenSearch node; 3.x put `Module` before `Plugin` in the class names."""
    painless = "lang-painless"
    return (
        Module(
            "transport-netty4",
            f"org.opensearch.transport.Netty4{suffix}",
            ("transport-netty4-client-*", "netty-*", "opensearch-netty4-*"),
        ),
        Module(painless, f"org.opensearch.painless.Painless{suffix}", _PAINLESS_JARS),
        Module(
            "analysis-common",
            f"org.opensearch.analysis.common.CommonAnalysis{suffix}",
            ("analysis-common-*",),
            extends=painless,
        ),
        Module("mapper-extras", f"org.opensearch.index.mapper.MapperExtras{suffix}", ("mapper-extras-client-*",)),
        Module("reindex", f"org.opensearch.index.reindex.Reindex{suffix}", _REINDEX_JARS),
    )


OPENSEARCH_2 = Recipe(
    name="opensearch-2.19.1",
    folder="opensearch-2.19.1",
    distribution="opensearch",
    version="2.19.1",
    image="opensearchproject/opensearch:2.19.1",
    min_java=17,  # 25 was tried too
    launcher="OpenSearchLauncher",
    modules=_opensearch_modules("Plugin"),
    plugins=(Plugin("opensearch-knn", "opensearch-knn-*.zip"),),
)

OPENSEARCH_2_ML = replace(
    OPENSEARCH_2,
    name="opensearch-2.19.1-ml",
    profiles=("ml",),
    plugins=(
        *OPENSEARCH_2.plugins,
        Plugin("opensearch-job-scheduler", "opensearch-job-scheduler-*.zip"),
        Plugin("opensearch-ml", "opensearch-ml-plugin-*.zip"),
        Plugin("opensearch-neural-search", "neural-search-*.zip"),
    ),
)
"""With ml-commons and neural-search: a zip of 363 MB more to fetch, and some 3 s more to start."""

OPENSEARCH_2_SECURITY = replace(
    OPENSEARCH_2,
    name="opensearch-2.19.1-security",
    profiles=("security",),
    plugins=(*OPENSEARCH_2.plugins, Plugin("opensearch-security", "opensearch-security-*.zip")),
)
"""With the security plugin: TLS, users and roles. `security.py` writes its configuration."""

OPENSEARCH_3 = Recipe(
    name="opensearch-3.5.0",
    folder="opensearch-3.5.0",
    distribution="opensearch",
    version="3.5.0",
    image="opensearchproject/opensearch:3.5.0",
    min_java=21,
    launcher="OpenSearchLauncher",
    modules=_opensearch_modules("ModulePlugin"),
    plugins=(
        Plugin(
            "opensearch-knn",
            "opensearch-knn-*.zip",
            extra_jars=("guava-*", "failureaccess-*", "protobufs-*"),
            sources="opensearch-3-grpc-spi",
            # It also extends transport-grpc, which is not published.
            descriptor=(("extended.plugins", "lang-painless"),),
        ),
    ),
    dropped_jars=("slf4j-api-*",),  # the kNN zip carries it; twice is "jar hell"
    java_options=("--add-modules=jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED"),
)

ELASTICSEARCH_8 = Recipe(
    name="elasticsearch-8.15.5",
    folder="elasticsearch-8.15.5",
    distribution="elasticsearch",
    version="8.15.5",
    image="docker.elastic.co/elasticsearch/elasticsearch:8.15.5",
    min_java=17,  # 25 was tried too
    launcher="ElasticsearchLauncher",
    modules=(
        Module(
            "transport-netty4",
            "org.elasticsearch.transport.netty4.Netty4Plugin",
            ("transport-netty4-*", "netty-*"),
        ),
        Module("unpublished", "sinkrank.UnpublishedModules", sources="elasticsearch-8-modules"),
    ),
    java_options=("-Des.distribution.type=tar",),
    on_module_path=True,
)

TESTED = (OPENSEARCH_2, OPENSEARCH_3, ELASTICSEARCH_8)
"""What the `engine` fixture runs through."""

RECIPES = {recipe.name: recipe for recipe in (*TESTED, OPENSEARCH_2_ML, OPENSEARCH_2_SECURITY)}
"""All that can be assembled, by name; a variant with more plugins goes here and not into `TESTED`."""
