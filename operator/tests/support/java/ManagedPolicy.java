import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.server.policy.AlterConfigPolicy;
import org.apache.kafka.server.policy.CreateTopicPolicy;

/** What a managed Kafka lets nobody do, for topics whose names begin with `managed-`: set a config that it does not list. */
public class ManagedPolicy {
    static final String PREFIX = "managed-";
    static final Set<String> SETTABLE = Set.of("cleanup.policy", "retention.ms", "retention.bytes", "max.message.bytes");

    static void require(String topic, Map<String, String> configs) {
        if (topic.startsWith(PREFIX) && configs != null && !SETTABLE.containsAll(configs.keySet())) {
            throw new PolicyViolationException("this service does not let topic configs be set but " + SETTABLE.stream().sorted().toList());
        }
    }

    /** Of new topics. */
    public static class Create implements CreateTopicPolicy {
        @Override public void validate(RequestMetadata request) { require(request.topic(), request.configs()); }
        @Override public void configure(Map<String, ?> configs) { }
        @Override public void close() { }
    }

    /** Of topics that there are. */
    public static class Alter implements AlterConfigPolicy {
        @Override public void validate(RequestMetadata request) { require(request.resource().name(), request.configs()); }
        @Override public void configure(Map<String, ?> configs) { }
        @Override public void close() { }
    }
}
