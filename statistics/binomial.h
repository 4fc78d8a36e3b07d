// Shares of counts, where nothing is known of machines.
#pragma once

namespace plimsoll::statistics {

// The lower end of Wilson's score interval (E. B. Wilson, Journal of the American Statistical Association 22, 1927) for a
// share that was observed in so many samples: the smallest one that is within `z` standard deviations of what was seen. 0
// without samples. The share is within [0, 1]; the samples need not be a whole number.
double wilson_low(double share, double samples, double z);

// The probability of `hits` or more among `trials` that succeed with `probability` each; exact to about 1e-12 of itself, however small.
double binomial_upper_tail(double hits, double trials, double probability);

}  // namespace plimsoll::statistics
