package org.example.shop;

import java.util.List;
import java.util.function.*;
import static org.example.shop.Money.zero;

/** Orders. */
@Service
@Transactional(readOnly = true)
public abstract class OrderService<T extends Order & Comparable<T>> extends BaseService implements Finder<T>, AutoCloseable {
    public static final int MAX_LINES = 200;
    private static final Logger LOG =
        LoggerFactory.getLogger(OrderService.class);
    private final Repository<T> repository;

    static {
        register();
    }

    @Inject
    public OrderService(Repository<T> repository) {
        this.repository = repository;
    }

    @Override
    public Optional<T> find(@NonNull String id) throws NotFoundException {
        Runnable r = () -> LOG.info("find");
        return repository.load(id).map(Mapper::convert);
    }

    public Optional<T> find(long id, Locale locale) { return find(Long.toString(id)); }

    protected abstract <R> R visit(
        Visitor<R> visitor, // who comes
        T... orders);

    public enum Status implements Coded {
        OPEN("o") { @Override public boolean last() { return false; } },
        DONE("d");

        private final String code;
        Status(String code) { this.code = code; }
        public boolean last() { return true; }
    }

    public record Line<A>(A article, @Positive int count) implements Priced {
        static final Line<?> EMPTY = null;
        public Line {
            if (count < 1) throw new IllegalArgumentException();
        }
        BigDecimal total() { return Money.of(article, count); }
    }

    interface Finder<F> {
        int LIMIT = 10;
        Optional<F> find(String id) throws NotFoundException;
        default void reset() { cacheOf(this).clear(); }
    }

    @interface Audited {
        String value() default "";
        Class<?>[] groups() default {};
    }

    private class Größe { int länge; class Deep { void go() {} } }
}

sealed interface Shape permits Circle, Square {}
