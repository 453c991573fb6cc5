

xPlaceholder*
dtype0

yAddV2xy

zNegyT
R

f0
a
b

lf1a

rf1a
sAddV2l:b:0r:b:0"

bs:z:0"Ú