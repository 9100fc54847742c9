# Writes data sets for PCA, and what rrcov's PcaHubert (ROBPCA) says of them with two components.
# Run in this folder:
#   Rscript pca.R
# The data are public and come with robustbase (wood, milk, pulpfiber) and rrcov (fish, pottery);
# hbk.csv is written by classic.R.
suppressMessages(library(rrcov))
data(fish); data(pottery)
numbers <- function(d) { d <- d[sapply(d, is.numeric)]; d[complete.cases(d), ] }
sets <- lapply(list(hbk = hbk, wood = wood, milk = milk, pulpfiber = pulpfiber, fish = fish,
                    pottery = pottery), numbers)
rows <- data.frame()
for (name in names(sets)) {
  if (name != "hbk") write.csv(sets[[name]], paste0(name, ".csv"), row.names = FALSE, quote = FALSE)
  fit <- PcaHubert(as.matrix(sets[[name]]), k = 2)
  rows <- rbind(rows, data.frame(
    data = name, first = signif(fit@eigenvalues[1], 6), second = signif(fit@eigenvalues[2], 6),
    off = paste(which(fit@od > fit@cutoff.od), collapse = " "),
    far = paste(which(fit@sd > fit@cutoff.sd), collapse = " ")))
}
write.csv(rows, "pcahubert.csv", row.names = FALSE, quote = FALSE)
cat(R.version.string, "rrcov", as.character(packageVersion("rrcov")), "\n")
