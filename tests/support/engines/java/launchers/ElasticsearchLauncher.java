import java.nio.file.Path;
import java.util.Map;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;

/**
 * Starts one Elasticsearch node: {@code ElasticsearchLauncher HOME CONFIG PARENT_PID}.
 *
 * <p>Stands in for {@code bootstrap.Elasticsearch}, which refuses root and wants the parts of a full distribution.
 */
public final class ElasticsearchLauncher {
    private ElasticsearchLauncher() {}

    public static void main(String[] args) throws Exception {
        ParentWatch.start(Long.parseLong(args[2]));
        LogConfigurator.configureESLogging();
        Settings home = Settings.builder().put("path.home", args[0]).build();
        Environment environment =
                InternalSettingsPreparer.prepareEnvironment(home, Map.of(), Path.of(args[1]), () -> "sinkrank-test");
        LogConfigurator.setNodeName("sinkrank-test");
        LogConfigurator.configure(environment, true);
        Node node = new Node(environment);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> close(node), "node-close"));
        node.start();
        Thread.currentThread().join(); // the node's own threads are daemons
    }

    private static void close(Node node) {
        try {
            node.close();
        } catch (Exception failed) {
            failed.printStackTrace();
        }
    }
}
