package lab

import (
	"fmt"
	"strings"
)

// The command line of each component.

func (l *Lab) url() string { return fmt.Sprintf("https://127.0.0.1:%d", l.ports.apiServer) }

func (l *Lab) etcdFlags() []string {
	clients := fmt.Sprintf("http://127.0.0.1:%d", l.ports.etcd)
	peers := fmt.Sprintf("http://127.0.0.1:%d", l.ports.etcdPeer)
	return []string{
		"--data-dir=" + l.path("etcd"),
		"--listen-client-urls=" + clients, "--advertise-client-urls=" + clients,
		"--listen-peer-urls=" + peers, "--initial-advertise-peer-urls=" + peers,
		"--initial-cluster=default=" + peers,
		"--unsafe-no-fsync",                                 // data to be thrown away
		"--heartbeat-interval=20", "--election-timeout=200", // a lone member elects itself soon
		"--quota-backend-bytes=8589934592",
		"--log-level=warn",
	}
}

func (l *Lab) apiServerFlags() []string {
	pki := func(name string) string { return l.path("pki", name) }
	flags := []string{
		fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", l.ports.etcd),
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", l.ports.apiServer),
		"--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none", // no legal endpoint on loopback
		"--service-cluster-ip-range=10.0.0.0/16",
		"--tls-cert-file=" + pki("kube-apiserver.crt"), "--tls-private-key-file=" + pki("kube-apiserver.key"),
		"--client-ca-file=" + pki("ca.crt"),
		"--requestheader-client-ca-file=" + pki("front-proxy-ca.crt"),
		"--requestheader-allowed-names=front-proxy",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + pki("front-proxy.crt"), "--proxy-client-key-file=" + pki("front-proxy.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + pki("service-account.key"),
		"--service-account-signing-key-file=" + pki("service-account.key"),
		"--authorization-mode=Node,RBAC",
		"--allow-privileged",
		"--max-requests-inflight=1000", "--max-mutating-requests-inflight=1000",
		"--profiling=false",
	}
	off := []string{"TaintNodesByCondition"} // nothing here would take its not-ready taint away
	if !l.options.ServiceAccountTokens {
		off = append(off, "ServiceAccount")
	}
	flags = append(flags, "--disable-admission-plugins="+strings.Join(off, ","))
	return append(flags, l.options.APIServerFlags...)
}

// builtinControllers are the controllers that a job's life needs (garbage of a deleted owner, namespaces, service
// accounts, volumes, disruption budgets) and those of the workloads that people try beside it.
var builtinControllers = []string{
	"garbage-collector-controller", "namespace-controller", "resourcequota-controller",
	"serviceaccount-controller", "root-ca-certificate-publisher-controller",
	"persistentvolume-binder-controller", "persistentvolumeclaim-protection-controller",
	"disruption-controller",
	"deployment-controller", "replicaset-controller", "statefulset-controller", "daemonset-controller",
	"job-controller", "cronjob-controller",
}

func (l *Lab) controllerManagerFlags() []string {
	return append([]string{
		"--kubeconfig=" + l.Kubeconfig,
		"--controllers=" + strings.Join(builtinControllers, ","),
		"--leader-elect=false", "--secure-port=0",
		"--service-account-private-key-file=" + l.path("pki", "service-account.key"),
		"--root-ca-file=" + l.path("pki", "ca.crt"),
		"--kube-api-qps=1000", "--kube-api-burst=2000",
		"--concurrent-gc-syncs=20",
	}, l.options.ControllerManagerFlags...)
}

func (l *Lab) schedulerNameFlags() (flags []string) {
	for _, name := range l.options.SchedulerNames {
		flags = append(flags, "--scheduler-name="+name)
	}
	return flags
}

func (l *Lab) volcanoControllerFlags() []string {
	return append(l.schedulerNameFlags(),
		"--kubeconfig="+l.Kubeconfig, "--leader-elect=false", "--kube-api-qps=2000", "--kube-api-burst=2000")
}

func (l *Lab) stockSchedulerFlags() []string {
	flags := []string{
		"--kubeconfig=" + l.Kubeconfig, "--leader-elect=false", "--cache-dumper=false",
		"--kube-api-qps=2000", "--kube-api-burst=2000",
	}
	if l.options.StockSchedulerConfig != "" {
		flags = append(flags, "--scheduler-conf="+l.options.StockSchedulerConfig)
	}
	return append(flags, l.options.StockSchedulerFlags...)
}

func (l *Lab) kubeSchedulerFlags() []string {
	return []string{
		"--kubeconfig=" + l.Kubeconfig, "--leader-elect=false", "--secure-port=0",
		"--kube-api-qps=1000", "--kube-api-burst=2000",
	}
}

// volcanoWebhooks are the webhooks that Volcano's chart enables.
const volcanoWebhooks = "/jobs/mutate,/jobs/validate,/podgroups/validate,/queues/mutate,/queues/validate," +
	"/hypernodes/validate,/cronjobs/validate"

func (l *Lab) admissionFlags() []string {
	return append(l.schedulerNameFlags(),
		"--kubeconfig="+l.Kubeconfig, "--kube-api-qps=1000", "--kube-api-burst=2000",
		"--enabled-admission="+volcanoWebhooks,
		"--listen-address=127.0.0.1", fmt.Sprintf("--port=%d", l.ports.admission),
		fmt.Sprintf("--webhook-url=https://127.0.0.1:%d", l.ports.admission),
		"--ca-cert-file="+l.path("pki", "ca.crt"),
		"--tls-cert-file="+l.path("pki", "volcano-admission.crt"),
		"--tls-private-key-file="+l.path("pki", "volcano-admission.key"),
	)
}
