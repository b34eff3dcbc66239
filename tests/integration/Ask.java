import java.util.Arrays;
import java.util.Hashtable;
import javax.naming.Context;
import javax.naming.NamingEnumeration;
import javax.naming.directory.Attribute;
import javax.naming.directory.InitialDirContext;

/** Prints the DNS attributes of a name, as JNDI finds them: PORT NAME [TYPE...]. */
class Ask {
    public static void main(String[] arguments) throws Exception {
        Hashtable<String, String> environment = new Hashtable<>();
        environment.put(Context.INITIAL_CONTEXT_FACTORY, "com.sun.jndi.dns.DnsContextFactory");
        environment.put(Context.PROVIDER_URL, "dns://127.0.0.1:" + arguments[0]);
        String[] types = arguments.length > 2 ? Arrays.copyOfRange(arguments, 2, arguments.length) : null;
        NamingEnumeration<? extends Attribute> all =
            new InitialDirContext(environment).getAttributes(arguments[1], types).getAll();
        while (all.hasMore()) {
            System.out.println(all.next());
        }
    }
}
