

xPlaceholder*
dtype0


yf0xT
R

f0
a
b

lf0a

rf0a
sAddV2l:b:0r:b:0"

bs:z:0"Ú