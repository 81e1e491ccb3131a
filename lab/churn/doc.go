// Package churn plays many users at once on a lab: it submits gangs of random shapes, lets them run
// and end, and meanwhile watches every pod for what must never happen: a GPU given twice, a pod that
// was bound without the GPUs that it asks for, a gang that stays bound in part while no decision is made
// about the rest. Engine and scheduler can be killed at random while it does.
//
// What is random follows from a seed that is part of the report.
package churn
