package admission

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

var reviews = promauto.NewCounterVec(prometheus.CounterOpts{
	Name: "tephra_admission_reviews_total",
	Help: "Reviews by webhook (complete, check) and outcome (allowed, completed, denied, malformed, busy).",
}, []string{"webhook", "outcome"})
