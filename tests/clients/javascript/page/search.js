// A page as a site would have it: InstantSearch's widgets over Searchkit, which asks an engine by `_msearch`.
import Client from "@searchkit/instantsearch-client";
import instantsearch from "instantsearch.js";
import { configure, hits, pagination, refinementList, searchBox, stats } from "instantsearch.js/es/widgets";
import Searchkit from "searchkit";

const given = new URLSearchParams(location.search);

const searchkit = new Searchkit({
  connection: { host: given.get("engine") },
  search_settings: {
    search_attributes: ["text"],
    result_attributes: ["text"],
    highlight_attributes: ["text"],
    facet_attributes: [{ attribute: "tag", type: "string", field: "tag" }],
  },
});

const search = instantsearch({ indexName: given.get("index"), searchClient: Client(searchkit), insights: false });
search.addWidgets([
  configure({ hitsPerPage: 2 }),
  searchBox({ container: "#query" }),
  stats({ container: "#total", templates: { text: ({ nbHits }) => String(nbHits) } }),
  refinementList({ container: "#tags", attribute: "tag" }),
  hits({
    container: "#hits",
    templates: { item: (hit, { html, components }) => html`${components.Highlight({ hit, attribute: "text" })}` },
  }),
  pagination({ container: "#pages" }),
]);
// Whoever drives the page waits for the answer to what he did.
search.on("render", () => {
  const { configure: fixed, ...chosen } = search.getUiState()[given.get("index")] ?? {};
  document.body.dataset.status = search.status;
  document.body.dataset.shown = JSON.stringify(chosen);
});
search.start();
