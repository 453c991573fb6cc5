"""Work in child processes: what crashes or hangs costs only itself."""
import os
import signal


def silent():
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)


def each(items, work, seconds):
    """Yields (item, text of work(item)); where the process died or ran for more than `seconds` the text is "died: SIGNAL"."""
    items = list(items)
    done = 0
    while done < len(items):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            silent()
            try:
                for item in items[done:]:
                    signal.alarm(seconds)
                    os.write(writer, work(item).replace("\n", " ").encode() + b"\n")
            finally:
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as stream:
            for line in stream:
                yield items[done], line.rstrip("\n")
                done += 1
        status = os.waitpid(child, 0)[1]
        if done < len(items):
            yield items[done], f"died: {signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else 'an exception'}"
            done += 1
