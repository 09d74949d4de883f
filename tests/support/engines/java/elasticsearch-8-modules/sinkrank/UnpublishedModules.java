package sinkrank;

import java.io.IOException;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.ar.ArabicAnalyzer;
import org.apache.lucene.analysis.bg.BulgarianAnalyzer;
import org.apache.lucene.analysis.bn.BengaliAnalyzer;
import org.apache.lucene.analysis.ca.CatalanAnalyzer;
import org.apache.lucene.analysis.cjk.CJKAnalyzer;
import org.apache.lucene.analysis.cz.CzechAnalyzer;
import org.apache.lucene.analysis.da.DanishAnalyzer;
import org.apache.lucene.analysis.de.GermanAnalyzer;
import org.apache.lucene.analysis.el.GreekAnalyzer;
import org.apache.lucene.analysis.en.EnglishAnalyzer;
import org.apache.lucene.analysis.es.SpanishAnalyzer;
import org.apache.lucene.analysis.et.EstonianAnalyzer;
import org.apache.lucene.analysis.eu.BasqueAnalyzer;
import org.apache.lucene.analysis.fa.PersianAnalyzer;
import org.apache.lucene.analysis.fi.FinnishAnalyzer;
import org.apache.lucene.analysis.fr.FrenchAnalyzer;
import org.apache.lucene.analysis.ga.IrishAnalyzer;
import org.apache.lucene.analysis.gl.GalicianAnalyzer;
import org.apache.lucene.analysis.hi.HindiAnalyzer;
import org.apache.lucene.analysis.hu.HungarianAnalyzer;
import org.apache.lucene.analysis.hy.ArmenianAnalyzer;
import org.apache.lucene.analysis.id.IndonesianAnalyzer;
import org.apache.lucene.analysis.it.ItalianAnalyzer;
import org.apache.lucene.analysis.lt.LithuanianAnalyzer;
import org.apache.lucene.analysis.lv.LatvianAnalyzer;
import org.apache.lucene.analysis.nl.DutchAnalyzer;
import org.apache.lucene.analysis.no.NorwegianAnalyzer;
import org.apache.lucene.analysis.pt.PortugueseAnalyzer;
import org.apache.lucene.analysis.ro.RomanianAnalyzer;
import org.apache.lucene.analysis.ru.RussianAnalyzer;
import org.apache.lucene.analysis.sr.SerbianAnalyzer;
import org.apache.lucene.analysis.sv.SwedishAnalyzer;
import org.apache.lucene.analysis.th.ThaiAnalyzer;
import org.apache.lucene.analysis.tr.TurkishAnalyzer;
import org.elasticsearch.Build;
import org.elasticsearch.client.internal.node.NodeClient;
import org.elasticsearch.cluster.metadata.IndexNameExpressionResolver;
import org.elasticsearch.cluster.node.DiscoveryNodes;
import org.elasticsearch.common.io.stream.NamedWriteableRegistry;
import org.elasticsearch.common.settings.ClusterSettings;
import org.elasticsearch.common.settings.IndexScopedSettings;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.common.settings.SettingsFilter;
import org.elasticsearch.features.NodeFeature;
import org.elasticsearch.index.analysis.AnalyzerProvider;
import org.elasticsearch.index.analysis.AnalyzerScope;
import org.elasticsearch.index.analysis.PreBuiltAnalyzerProvider;
import org.elasticsearch.indices.analysis.AnalysisModule.AnalysisProvider;
import org.elasticsearch.plugins.ActionPlugin;
import org.elasticsearch.plugins.AnalysisPlugin;
import org.elasticsearch.plugins.Plugin;
import org.elasticsearch.rest.BaseRestHandler;
import org.elasticsearch.rest.RestController;
import org.elasticsearch.rest.RestHandler;
import org.elasticsearch.rest.RestRequest;
import org.elasticsearch.rest.RestResponse;
import org.elasticsearch.rest.RestStatus;
import org.elasticsearch.xcontent.XContentBuilder;

/** What our indices need of Elasticsearch's modules analysis-common and rest-root, which are not published. */
public final class UnpublishedModules extends Plugin implements ActionPlugin, AnalysisPlugin {
    /** Analyzers by the names of analysis-common, which takes the same ones of Lucene. */
    private static final Map<String, Supplier<Analyzer>> ANALYZERS = Map.ofEntries(
            Map.entry("arabic", ArabicAnalyzer::new),
            Map.entry("armenian", ArmenianAnalyzer::new),
            Map.entry("basque", BasqueAnalyzer::new),
            Map.entry("bengali", BengaliAnalyzer::new),
            Map.entry("bulgarian", BulgarianAnalyzer::new),
            Map.entry("catalan", CatalanAnalyzer::new),
            Map.entry("cjk", CJKAnalyzer::new),
            Map.entry("czech", CzechAnalyzer::new),
            Map.entry("danish", DanishAnalyzer::new),
            Map.entry("dutch", DutchAnalyzer::new),
            Map.entry("english", EnglishAnalyzer::new),
            Map.entry("estonian", EstonianAnalyzer::new),
            Map.entry("finnish", FinnishAnalyzer::new),
            Map.entry("french", FrenchAnalyzer::new),
            Map.entry("galician", GalicianAnalyzer::new),
            Map.entry("german", GermanAnalyzer::new),
            Map.entry("greek", GreekAnalyzer::new),
            Map.entry("hindi", HindiAnalyzer::new),
            Map.entry("hungarian", HungarianAnalyzer::new),
            Map.entry("indonesian", IndonesianAnalyzer::new),
            Map.entry("irish", IrishAnalyzer::new),
            Map.entry("italian", ItalianAnalyzer::new),
            Map.entry("latvian", LatvianAnalyzer::new),
            Map.entry("lithuanian", LithuanianAnalyzer::new),
            Map.entry("norwegian", NorwegianAnalyzer::new),
            Map.entry("persian", PersianAnalyzer::new),
            Map.entry("portuguese", PortugueseAnalyzer::new),
            Map.entry("romanian", RomanianAnalyzer::new),
            Map.entry("russian", RussianAnalyzer::new),
            Map.entry("serbian", SerbianAnalyzer::new),
            Map.entry("spanish", SpanishAnalyzer::new),
            Map.entry("swedish", SwedishAnalyzer::new),
            Map.entry("thai", ThaiAnalyzer::new),
            Map.entry("turkish", TurkishAnalyzer::new));

    @Override
    public Map<String, AnalysisProvider<AnalyzerProvider<? extends Analyzer>>> getAnalyzers() {
        Map<String, AnalysisProvider<AnalyzerProvider<? extends Analyzer>>> found = new HashMap<>();
        ANALYZERS.forEach((name, analyzer) -> {
            var provider = new PreBuiltAnalyzerProvider(name, AnalyzerScope.INDICES, analyzer.get());
            found.put(name, (index, environment, given, settings) -> provider);
        });
        return found;
    }

    @Override
    public Collection<RestHandler> getRestHandlers(
            Settings settings,
            NamedWriteableRegistry registry,
            RestController controller,
            ClusterSettings clusterSettings,
            IndexScopedSettings indexSettings,
            SettingsFilter filter,
            IndexNameExpressionResolver resolver,
            Supplier<DiscoveryNodes> nodes,
            Predicate<NodeFeature> supports) {
        return List.of(new Root());
    }

    /** Answers `GET /` with the version. */
    private static final class Root extends BaseRestHandler {
        @Override
        public String getName() {
            return "root";
        }

        @Override
        public List<Route> routes() {
            return List.of(new Route(RestRequest.Method.GET, "/"), new Route(RestRequest.Method.HEAD, "/"));
        }

        @Override
        protected RestChannelConsumer prepareRequest(RestRequest request, NodeClient client) throws IOException {
            return channel -> {
                XContentBuilder answer = channel.newBuilder().startObject();
                answer.startObject("version").field("number", Build.current().version()).endObject();
                answer.field("tagline", "You Know, for Search").endObject();
                channel.sendResponse(new RestResponse(RestStatus.OK, answer));
            };
        }
    }
}
