package action

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Served by the scheduler's /metrics, beside Volcano's own.
var (
	engineUp = promauto.NewGauge(prometheus.GaugeOpts{Name: "tephra_scheduler_engine_up",
		Help: "1 while the engine answers, 0 while it does not."})
	engineFailures = promauto.NewCounter(prometheus.CounterOpts{Name: "tephra_scheduler_engine_failures_total",
		Help: "Cycles that got no plan from the engine."})
	engineSeconds = promauto.NewHistogram(prometheus.HistogramOpts{Name: "tephra_scheduler_engine_seconds",
		Help:    "From asking for a plan, once the session is open, to the plan received.",
		Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14)})
	fullSyncs = promauto.NewGauge(prometheus.GaugeOpts{Name: "tephra_scheduler_full_syncs",
		Help: "Full syncs sent to the engine since this process began."})
	placedGangs = promauto.NewCounterVec(prometheus.CounterOpts{Name: "tephra_scheduler_gangs_total",
		Help: "Decisions to place a gang, or members of it, by what became of them."}, []string{"outcome"})
	placedTasks = promauto.NewCounter(prometheus.CounterOpts{Name: "tephra_scheduler_placed_tasks_total",
		Help: "Placements handed to the API server."})
	failedBinds = promauto.NewCounter(prometheus.CounterOpts{Name: "tephra_scheduler_failed_binds_total",
		Help: "Placements that the API server, or Volcano's cache, did not take."})
	evictedTasks = promauto.NewCounterVec(prometheus.CounterOpts{Name: "tephra_scheduler_evicted_tasks_total",
		Help: "Tasks evicted because the engine asked for it: reclaimed for another queue, preempted for a job of their own, unwound with a gang that could not be completed, or repaired: its gang left unhealthy devices."},
		[]string{"reason"})
)

// A rate needs a zero to begin with.
func init() {
	for _, reason := range []cause{reclaimed, preempted, unwound, repaired} {
		evictedTasks.WithLabelValues(string(reason))
	}
}
