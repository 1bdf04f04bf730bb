"""Rules over whole datasets: batches, processes, and outputs that survive being killed."""
