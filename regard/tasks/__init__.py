"""What an example, a loss, a prediction and a score are, for each job."""
