package frameworks

import (
	"fmt"
	"strings"
)

// controller is how one framework's controller is started. Its program, resource definitions and webhooks are in the folder
// of its name under build/frameworks.
type controller struct {
	name string
	// arguments of the program; %CONFIG is the file of settings.
	arguments []string
	// config is the text of that file.
	config string
	// health is the path that answers when the controller works; the address is %HEALTH, or `healthAt` if it cannot be chosen.
	health, healthAt string
	// rotates is the name of the webhook configuration whose certificate the controller keeps itself, in a Secret of the
	// namespace `rotatesIn`. It is given one without effect: the webhooks of a lab are reached by URL.
	rotates, rotatesIn, rotatesSecret string
}

// place is where a controller runs; its fields replace the names with % in arguments and settings.
type place struct {
	folder      string // of its certificate, tls.crt and tls.key, and its settings
	kubeconfig  string
	health      string // an address
	webhookHost string
	webhookPort string
	config      string
}

func (p place) fill(text string) string {
	return strings.NewReplacer("%FOLDER", p.folder, "%KUBECONFIG", p.kubeconfig, "%HEALTH", p.health,
		"%WEBHOOK_HOST", p.webhookHost, "%WEBHOOK_PORT", p.webhookPort, "%CONFIG", p.config).Replace(text)
}

// sigsConfig is the configuration that JobSet and LeaderWorkerSet share, with the group of its kind.
func sigsConfig(group, more string) string {
	return fmt.Sprintf(`apiVersion: %s/v1alpha1
kind: Configuration
leaderElection: {leaderElect: false}
internalCertManagement: {enable: false}
metrics: {bindAddress: "0"}
health: {healthProbeBindAddress: "%%HEALTH"}
webhook: {host: %%WEBHOOK_HOST, port: %%WEBHOOK_PORT, certDir: %%FOLDER}
clientConnection: {qps: 500, burst: 500}
%s`, group, more)
}

// controllers are all that hack/build-frameworks.sh builds, in the order in which they start.
var controllers = []controller{
	{name: "jobset", arguments: []string{"--config=%CONFIG"}, health: "/readyz", config: sigsConfig("config.jobset.x-k8s.io", "")},
	{name: "lws", arguments: []string{"--config=%CONFIG"}, health: "/readyz",
		config: sigsConfig("config.lws.x-k8s.io", "gangSchedulingManagement: {schedulerProvider: volcano}\n")},
	{name: "mpi-operator", health: "/healthz", healthAt: "127.0.0.1:8080",
		arguments: []string{"--kubeConfig=%KUBECONFIG", "--gang-scheduling=volcano", "--lock-namespace=default", "--kube-api-qps=500", "--kube-api-burst=500"}},
	{name: "kuberay", health: "/readyz",
		arguments: []string{"--batch-scheduler=volcano", "--metrics-addr=0", "--health-probe-bind-address=%HEALTH", "--enable-leader-election=false", "--qps=500", "--burst=500"}},
	{name: "trainer", arguments: []string{"--config=%CONFIG"}, health: "/readyz", config: `apiVersion: config.trainer.kubeflow.org/v1alpha1
kind: Configuration
health: {healthProbeBindAddress: "%HEALTH"}
metrics: {bindAddress: "0", secureServing: false}
webhook: {host: %WEBHOOK_HOST, port: %WEBHOOK_PORT}
leaderElection: {leaderElect: false}
certManagement: {enable: false}
clientConnection: {qps: 500, burst: 500}
`},
	{name: "training-operator", health: "/readyz",
		rotates: "validator.training-operator.kubeflow.org", rotatesIn: "kubeflow", rotatesSecret: "training-operator-webhook-cert",
		arguments: []string{"--gang-scheduler-name=volcano",
			// All but MPIJob, whose definition is the MPI operator's.
			"--enable-scheme=pytorchjob", "--enable-scheme=tfjob", "--enable-scheme=jaxjob", "--enable-scheme=xgboostjob", "--enable-scheme=paddlejob",
			"--metrics-bind-address=0", "--health-probe-bind-address=%HEALTH",
			"--webhook-server-port=%WEBHOOK_PORT", "--kube-api-qps=500", "--kube-api-burst=500"}},
}

// needs are the controllers that another one cannot do without: the Trainer's jobs are JobSets.
var needs = map[string][]string{"trainer": {"jobset"}}
