import java.nio.file.Path;
import java.util.Map;
import org.opensearch.common.logging.LogConfigurator;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;

/**
 * Starts one OpenSearch node: {@code OpenSearchLauncher HOME CONFIG PARENT_PID}.
 *
 * <p>Stands in for {@code bootstrap.OpenSearch}, which refuses root and wants a security agent that is not published.
 */
public final class OpenSearchLauncher {
    private OpenSearchLauncher() {}

    public static void main(String[] args) throws Exception {
        ParentWatch.start(Long.parseLong(args[2]));
        Settings home = Settings.builder().put("path.home", args[0]).build();
        Environment environment =
                InternalSettingsPreparer.prepareEnvironment(home, Map.of(), Path.of(args[1]), () -> "sinkrank-test");
        LogConfigurator.configure(environment);
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
