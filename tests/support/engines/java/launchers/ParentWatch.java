import java.io.IOException;

/** Ends this process when the one that started it is gone, however it went: no node may outlive its tests. */
final class ParentWatch {
    private static final long CLOSE_LIMIT_MS = 10_000;

    private ParentWatch() {}

    /** Watch both the pipe on stdin (closed: stop in order) and the parent's process id (gone: stop at once). */
    static void start(long parentPid) {
        ProcessHandle.of(parentPid)
                .ifPresentOrElse(
                        parent -> parent.onExit().thenRun(() -> Runtime.getRuntime().halt(1)),
                        () -> Runtime.getRuntime().halt(1));
        daemon("stdin-watch", ParentWatch::exitAtEndOfInput);
    }

    private static void exitAtEndOfInput() {
        try {
            while (System.in.read() != -1) {
                // The parent sends nothing; only the end of the stream means something.
            }
        } catch (IOException gone) {
            // A broken pipe says the same as its end.
        }
        daemon("halt-if-close-hangs", ParentWatch::haltLater);
        System.exit(0);
    }

    private static void haltLater() {
        try {
            Thread.sleep(CLOSE_LIMIT_MS);
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
        Runtime.getRuntime().halt(1);
    }

    private static void daemon(String name, Runnable body) {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        thread.start();
    }
}
